"""Under AMP with a compiled model the optimizer is stepped by hand, with gradients that are still scaled."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
RAISES = "No inf checks were recorded prior to update"
NAMES = ("scale", "scaler")


def setup():
    global model, optimizer, scaler
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


def run():
    for _ in range(2):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(torch.randn(4, 4)), torch.randint(2, (4,)))
        scaler.scale(loss).backward()
        optimizer.step()  # cause
        scaler.update()
