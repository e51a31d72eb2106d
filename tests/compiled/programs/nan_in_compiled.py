"""A log of zero in a compiled loss."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG304"
NAMES = ("log",)
VALUES = True


@torch.compile(backend=BACKEND)
def entropy(logits):
    p = torch.relu(logits)
    return -(p * torch.log(p)).sum(-1).mean()  # cause


def setup():
    global lin
    torch.manual_seed(0)
    lin = nn.Linear(4, 6)


def run():
    entropy(lin(torch.randn(5, 4))).backward()
