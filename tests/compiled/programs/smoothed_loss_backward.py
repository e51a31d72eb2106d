"""A running mean of a compiled loss is what is differentiated: the second step reaches the first step's graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
NAMES = ()
RAISES = "backward through the graph a second time"


def setup():
    global net, optimizer, loss_of
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss_of = torch.compile(lambda x, y: F.cross_entropy(net(x), y), backend=BACKEND)


def run():
    smoothed = None
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        loss = loss_of(torch.randn(6, 4), torch.randint(2, (6,)))
        smoothed = loss if smoothed is None else 0.9 * smoothed + 0.1 * loss  # cause
        optimizer.zero_grad()
        smoothed.backward()
        optimizer.step()
