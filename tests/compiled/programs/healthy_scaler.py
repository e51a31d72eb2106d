"""A GradScaler in the right order, around a compiled model under autocast."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer, scaler
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1]))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
