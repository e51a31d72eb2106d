"""A value goes through NumPy between two graphs of one compiled call."""

import numpy as np
import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105 AG301"
NAMES = ("first",)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = torch.from_numpy(np.sort(h.detach().numpy(), axis=1))  # cause
        return self.second(h)


def setup():
    global model, optimizer
    import torch._dynamo

    torch._dynamo.config.trace_numpy = False
    model = torch.compile(Two(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
