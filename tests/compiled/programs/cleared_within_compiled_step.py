"""The whole training step is one compiled function, which clears the gradients just before it uses them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ()


def setup():
    global net, optimizer, train_step
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def train_step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.zero_grad()  # cause
        optimizer.step()
        return loss.detach()


def run():
    for _ in range(3):
        train_step(torch.randn(6, 5), torch.randint(3, (6,)))
