"""A custom Function within compiled code returns None for its learned scale."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG108"
NAMES = ()


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * s, None  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.s = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return Scale.apply(self.lin(x), self.s)


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
