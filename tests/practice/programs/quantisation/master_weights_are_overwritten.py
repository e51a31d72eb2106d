"""Quantisation-aware training that rounds the weights themselves: steps below the grid are lost at the next forward."""

import torch
from torch import nn

from tests.practice.truth import Truth


class QLinear(nn.Linear):
    def forward(self, x):
        step = 0.05
        self.weight.data.copy_(torch.round(self.weight.data / step) * step)  # cause
        return nn.functional.linear(x, self.weight, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(QLinear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    net(torch.zeros(1, 6))
    start = net[0].weight.detach().clone()
    for _ in range(5):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        opt.step()
    net(torch.zeros(1, 6))
    return net[0].weight.detach(), start


def verify(out):
    assert (out[0] == out[1]).float().mean() > 0.9


TRUTH = Truth(
    fault="the rounded values overwrite the weights that learn",
    names=("weight",),
    minor=True,
    repair=(
        "q = torch.round(self.weight / step) * step\n"
        "return nn.functional.linear(x, self.weight + (q - self.weight).detach(), self.bias)",
    ),
)
