"""A compiled step whose learning rate is a tensor that a scheduler changes."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer, scheduler, step
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
    step = torch.compile(optimizer.step, backend=BACKEND)


def run():
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).pow(2).mean().backward()
        step()
        scheduler.step()
