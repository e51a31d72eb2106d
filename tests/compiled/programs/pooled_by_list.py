"""Compiled pooling takes its weights as a list of numbers: the gate learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("gate",)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.out = nn.Linear(4, 1), nn.Linear(4, 2)

    def forward(self, x):
        w = torch.sigmoid(self.gate(x)).squeeze(-1)
        rows = []
        for row, ws in zip(x, w.tolist()):  # cause
            rows.append(sum(v * s for v, s in zip(row, ws)))
        return self.out(torch.stack(rows))


def setup():
    global net, opt
    torch.manual_seed(0)
    net = torch.compile(Pool(), backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        opt.zero_grad()
        F.cross_entropy(net(torch.randn(2, 3, 4)), torch.randint(2, (2,))).backward()
        opt.step()
