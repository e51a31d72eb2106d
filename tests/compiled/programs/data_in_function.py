"""A compiled loss function takes .data of a layer's output."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("proj",)


@torch.compile(backend=BACKEND, fullgraph=True)
def loss_of(proj, out, x, y):
    z = proj(x).data  # cause
    return F.mse_loss(out(z), y)


def setup():
    global proj, out, optimizer
    proj, out = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*proj.parameters(), *out.parameters()])


def run():
    x, y = torch.randn(5, 4), torch.randn(5, 1)
    for _ in range(2):
        loss = loss_of(proj, out, x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
