"""A detach() left from debugging in a compiled model: its encoder learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("encoder",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.encoder(x))
        h = h.detach()  # cause
        return self.head(h)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(3, 4))


def run():
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1]))
        loss.backward()
        optimizer.step()
