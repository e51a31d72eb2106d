"""fullgraph=True: the codes are an argmax, and the encoder in front of it learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104 AG301"
NAMES = ("encoder",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.table, self.head = nn.Linear(4, 6), nn.Embedding(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        codes = self.encoder(x).argmax(-1)  # cause
        return self.head(self.table(codes))


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(7, 4)), torch.randint(3, (7,))).backward()
        optimizer.step()
