"""The compiled gate writes through .data into what sigmoid keeps: AOTAutograd writes it before autograd's eyes."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201 AG202"
NAMES = ()
RAISES = "" if BACKEND == "eager" else "modified by an inplace operation"


def setup():
    global net, optimizer, trim
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def trim(gate):
        gate.data.clamp_(0.1, 0.9)  # cause
        return gate * 2


def run():
    for _ in range(2):
        x = torch.randn(5, 4) * 4
        gate = torch.sigmoid(net(x))
        optimizer.zero_grad()
        trim(gate).pow(2).sum().backward()
        optimizer.step()
