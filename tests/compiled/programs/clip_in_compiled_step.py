"""A compiled training step clips the gradients after it has used them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ()


def setup():
    global net, step, opt, x, y
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))

    @torch.compile(backend=BACKEND)
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # cause
        return loss


def run():
    for _ in range(3):
        step(x, y)
