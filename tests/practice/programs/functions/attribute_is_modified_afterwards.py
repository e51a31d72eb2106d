"""A Function keeps its input as an attribute of ctx; a layer behind it scales that input in place."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # also
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = self.inp(x)
        s = Square.apply(h)
        h.mul_(0.5)  # cause
        return self.out(s + h)


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.01)
    for _ in range(2):
        x = torch.randn(6, 4)
        opt.zero_grad()
        net(x).mean().backward()
        right = net.inp.weight.detach().clone().requires_grad_()
        h = nn.functional.linear(x, right, net.inp.bias.detach())
        (want,) = torch.autograd.grad(net.out(h * h + 0.5 * h).mean(), right)
        off = (want - net.inp.weight.grad).abs().max().item()
        opt.step()
    return off


def verify(off):
    assert off > 1e-4


TRUTH = Truth(fault="the kept input is modified before backward reads it", names=("mul_",), repair=("h = h * 0.5",))
