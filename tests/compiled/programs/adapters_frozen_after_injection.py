"""Adapters are put into a compiled encoder, and then all parameters are frozen, the adapters with them."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG106"
NAMES = ()
RAISES = "does not require grad"


class Adapted(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.down, self.up = base, nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x):
        h = self.base(x)
        return h + self.up(torch.relu(self.down(h)))


def setup():
    torch.manual_seed(0)


def run():
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Linear(8, 2))
    model[2] = Adapted(model[2])
    for p in model.parameters():
        p.requires_grad = False  # cause
    step = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        loss = nn.functional.cross_entropy(step(torch.randn(4, 6)), torch.randint(2, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
