"""The compiled head sets a hook on the features that it is given, which returns zeros: nothing before it learns."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

BY = "eager" if BACKEND == "aot_eager" else BACKEND  # What a region's node passes on to a hook is not compared.
RULES = "AG306"
NAMES = ("stem",)
VALUES = True


def silenced(grad):  # cause
    return torch.zeros_like(grad)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, h):
        h.register_hook(silenced)
        return self.out(torch.tanh(self.hidden(h)))


def setup():
    global stem, head, optimizer
    torch.manual_seed(0)
    stem, head = nn.Linear(5, 8), torch.compile(Head(), backend=BY)
    optimizer = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)


def run():
    for _ in range(2):
        loss = F.cross_entropy(head(torch.relu(stem(torch.randn(6, 5)))), torch.randint(3, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
