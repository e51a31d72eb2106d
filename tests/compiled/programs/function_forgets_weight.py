"""A custom function in compiled code returns None for its weight."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG108"
NAMES = ("weight",)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        _x, weight = ctx.saved_tensors
        return grad * weight, None  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return Scaled.apply(self.inner(x), self.weight)


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).pow(2).sum().backward()
        optimizer.step()
