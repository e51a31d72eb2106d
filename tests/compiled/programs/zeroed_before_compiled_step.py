"""The gradients are cleared between backward and the compiled step, which then has nothing to do."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305 AG413"
NAMES = ("zero_grad",)


def setup():
    global model, optimizer, step
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    @torch.compile(backend=BACKEND)
    def step():
        optimizer.step()


def run():
    for _ in range(3):
        x = torch.randn(5, 4)
        F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.zero_grad()  # cause
        step()
