"""Attention weights are masked in place after softmax saved them: a backend that differentiates cannot compile that."""

import math

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("softmax", "masked_fill_")
RAISES = "modified by an inplace operation"


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(6, 18), nn.Linear(6, 6)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(6), -1)
        later = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), 1)
        weights.masked_fill_(later, 0.0)  # cause
        return self.out(weights @ v)


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = torch.compile(Attention(), backend=BACKEND)
    optimizer = torch.optim.Adam(net.parameters())


def run():
    loss = net(torch.randn(2, 4, 6)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
