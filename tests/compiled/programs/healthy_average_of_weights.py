"""A compiled function moves an average of the weights under no_grad()."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, average, follow, optimizer
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    average = copy.deepcopy(model).requires_grad_(False)

    @torch.compile(backend=BACKEND)
    @torch.no_grad()
    def follow():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.05)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        x = torch.randn(5, 4)
        (model(x) - average(x)).pow(2).mean().add(model(x).pow(2).mean()).backward()
        optimizer.step()
        follow()
