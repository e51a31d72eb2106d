"""Blocks compiled one by one, with batches of other sizes."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU()) for _ in range(3)])
    for block in model:
        block.compile(backend=BACKEND, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    for size in (2, 5, 3):
        optimizer.zero_grad()
        model(torch.randn(size, 6)).pow(2).mean().backward()
        optimizer.step()
