"""The second phase unfreezes the backbone of a compiled model and gives it to the optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = nn.Sequential(nn.Sequential(nn.Linear(5, 8), nn.GELU()), nn.Linear(8, 2))
    model[0].requires_grad_(False)
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model[1].parameters(), lr=1e-2)


def run():
    for epoch in range(4):
        if epoch == 2:
            model[0].requires_grad_(True)
            optimizer.add_param_group({"params": model[0].parameters(), "lr": 1e-3})
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 5)), torch.randint(2, (4,))).backward()
        optimizer.step()
