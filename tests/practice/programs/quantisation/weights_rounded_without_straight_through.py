"""Fake quantisation rounds the weights; round has derivative 0."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class QuantLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().max() / 7
        w = (self.weight / scale).round().clamp(-8, 7) * scale  # cause
        return F.linear(x, w, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(QuantLinear(4, 8), nn.ReLU(), QuantLinear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = net(torch.randn(16, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net[0].weight.grad.abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the gradient of the weights is zero",
    names=("round",),
    repair=("w = (self.weight / scale).clamp(-8, 7) * scale\nw = w + ((w / scale).round() * scale - w).detach()",),
)
