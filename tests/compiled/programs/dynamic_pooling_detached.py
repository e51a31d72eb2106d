"""dynamic=True with sequences of other lengths: the pooled states are detached."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("embed",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix, self.out = nn.Embedding(10, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, ids):
        states = torch.relu(self.mix(self.embed(ids)))
        return self.out(states.mean(1).detach())  # cause


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND, dynamic=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for length in (3, 7, 5):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randint(10, (4, length))), torch.tensor([0, 1, 0, 1])).backward()
        optimizer.step()
