"""A compiled update writes the weights between forward and backward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("weight",)
RAISES = "one of the variables needed for gradient computation"


@torch.compile(backend=BACKEND)
def decay(p):
    with torch.no_grad():
        p.mul_(0.9)  # cause


def setup():
    global net
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))


def run():
    out = net(torch.randn(3, 4)).sum()
    decay(net[2].weight)
    out.backward()
