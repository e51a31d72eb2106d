"""Low-rank adapters on a frozen compiled model."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True
VALUES = True


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + (x @ self.down.t()) @ self.up.t()


def setup():
    global model, optimizer
    model = nn.Sequential(Adapted(nn.Linear(4, 8)), nn.ReLU(), Adapted(nn.Linear(8, 2)))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.compile(backend=BACKEND, dynamic=True)


def run():
    for size in (4, 6, 5):
        loss = F.cross_entropy(model(torch.randn(size, 4)), torch.randint(0, 2, (size,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
