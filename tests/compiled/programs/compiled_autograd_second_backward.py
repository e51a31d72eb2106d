"""Under compiled autograd a loss is computed once of features that two backwards go through."""

import torch
import torch._dynamo.compiled_autograd
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG501"
RAISES = "second time"
NAMES = ("retain_graph", "features")


def setup():
    global encoder, heads, optimizer
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
    encoder.compile(backend=BACKEND)
    heads = nn.ModuleList(nn.Linear(6, 1) for _ in range(2))
    optimizer = torch.optim.SGD([*encoder.parameters(), *heads.parameters()], lr=0.1)


def run():
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=BACKEND)):
        features = encoder(torch.randn(3, 4))
        optimizer.zero_grad()
        for head in heads:
            head(features).pow(2).mean().backward()  # cause
        optimizer.step()
