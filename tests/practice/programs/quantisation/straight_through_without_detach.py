"""Fake quantisation: `x + (q - x)` without a detach has the gradient of the rounding, which is zero."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def fake_quant(x, bits=4):
    scale = x.detach().abs().max() / (2 ** (bits - 1) - 1)
    q = torch.round(x / scale) * scale
    return x + (q - x)  # cause


class QuantLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, fake_quant(self.weight), self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(QuantLinear(6, 16), nn.ReLU(), QuantLinear(16, 3))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net[0].weight.grad.abs().max() < 1e-6


TRUTH = Truth(
    fault="the weights get a gradient of zero through the rounding",
    names=("weight",),
    repair=("return x + (q - x).detach()",),
)
