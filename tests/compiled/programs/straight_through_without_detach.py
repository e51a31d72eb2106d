"""A compiled straight-through rounding without its detach(): hard + soft - soft, whose gradients cancel."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG303"
NAMES = ("encoder",)


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 6)

    def forward(self, x):
        soft = torch.sigmoid(self.encoder(x))
        hard = (soft > 0.5).to(x.dtype)
        return self.decoder(soft + (hard - soft))  # cause


def setup():
    global coder, optimizer
    torch.manual_seed(0)
    coder = torch.compile(Coder(), backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.Adam(coder.parameters(), lr=1e-3)


def run():
    for _ in range(2):
        x = torch.randn(5, 6)
        optimizer.zero_grad()
        F.mse_loss(coder(x), x).backward()
        optimizer.step()
