"""The graph of one compiled call is gone through twice."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
NAMES = ()
RAISES = "Trying to backward through the graph a second time"


def setup():
    global model
    model = torch.compile(nn.Linear(4, 1), backend=BACKEND)


def run():
    out = model(torch.randn(3, 4))
    out.sum().backward()
    out.pow(2).sum().backward()  # cause
