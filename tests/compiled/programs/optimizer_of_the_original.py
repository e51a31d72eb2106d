"""The compiled copy is trained, and the optimizer has the parameters of the original."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404 AG405 AG301"
NAMES = ("0.weight",)


def setup():
    torch.manual_seed(0)


def run():
    model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)  # cause
    trained = torch.compile(copy.deepcopy(model), backend=BACKEND)
    for _ in range(3):
        loss = trained(torch.randn(6, 5)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
