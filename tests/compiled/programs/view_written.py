"""A view that compiled code returned is written before backward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ()
RAISES = "modified by an inplace operation"


@torch.compile(backend=BACKEND)
def split(h):
    return h[:, :2], h[:, 2:]


@torch.compile(backend=BACKEND)
def couple(a, b, w):
    return a * b.exp() * w


def setup():
    global lin, w, x
    torch.manual_seed(0)
    lin = nn.Linear(4, 4)
    w = torch.randn(2, requires_grad=True)
    x = torch.randn(3, 4)


def run():
    h = lin(x)
    a, b = split(h)
    y = couple(a, b, w)
    a.add_(1.0)  # cause
    (y.sum() + h.sum()).backward()
