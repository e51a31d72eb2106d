"""Model, loss and optimizer compiled, with a schedule and clipping."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer, schedule, step, criterion
    model = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-2))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    model = torch.compile(model, backend=BACKEND)
    criterion = torch.compile(nn.CrossEntropyLoss(label_smoothing=0.1), backend=BACKEND)

    @torch.compile(backend=BACKEND)
    def step():
        optimizer.step()


def run():
    for _ in range(3):
        loss = criterion(model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step()
        schedule.step()
