"""A scripted encoder in front of a compiled head."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global encoder, head, optimizer
    torch.manual_seed(0)
    encoder = torch.jit.script(nn.Sequential(nn.Linear(4, 6), nn.ReLU()))
    head = torch.compile(nn.Sequential(nn.Linear(6, 2)), backend=BACKEND)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(head(encoder(torch.randn(3, 4))), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
