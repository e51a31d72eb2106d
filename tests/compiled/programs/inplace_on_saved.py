"""The result of exp() in a compiled block is modified in place by the eager code around it."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("add_",)
RAISES = "one of the variables needed for gradient computation"


@torch.compile(backend=BACKEND)
def block(lin, x):
    return torch.exp(lin(x))


def setup():
    global lin
    lin = nn.Linear(4, 4)


def run():
    out = block(lin, torch.randn(3, 4))
    out.add_(1.0)  # cause
    out.sum().backward()
