"""torch.jit.trace of the encoder, which is then called under a no_grad() that was meant for tracing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102 AG301"
NAMES = ("encoder",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.jit.trace(nn.Sequential(nn.Linear(4, 6), nn.Tanh()), torch.randn(2, 4))
        self.head = nn.Linear(6, 2)

    @torch.no_grad()
    def encode(self, x):
        return self.encoder(x)

    def forward(self, x):
        return self.head(self.encode(x))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Model()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
