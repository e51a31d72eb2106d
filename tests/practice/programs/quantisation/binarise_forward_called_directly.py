"""A straight-through estimator whose forward is called instead of apply: sign passes back zeros."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return g


class BinLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) * 0.1)
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        w = Binarize.forward(None, self.weight)  # cause
        return nn.functional.linear(x, w, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(BinLinear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        x, y = torch.randn(10, 6), torch.randint(0, 2, (10,))
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(out):
    assert not out[0].weight.grad.any()


TRUTH = Truth(
    fault="forward() of the Function is called directly", names=("sign",), repair=("w = Binarize.apply(self.weight)",)
)
