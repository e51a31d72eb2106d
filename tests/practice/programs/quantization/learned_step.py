"""Learned step size quantization (LSQ) of weights and activations."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def round_pass(x):
    return (x.round() - x).detach() + x


def grad_scale(x, scale):
    y = x * scale
    return (x - y).detach() + y


class LSQ(nn.Module):
    def __init__(self, bits, signed):
        super().__init__()
        self.lo, self.hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        self.step = nn.Parameter(torch.ones(()))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if not self.ready:
            self.step.data.copy_(2 * x.detach().abs().mean() / math.sqrt(self.hi))
            self.ready.fill_(True)
        s = grad_scale(self.step, 1.0 / math.sqrt(self.hi * x.numel()))
        return round_pass((x / s).clamp(self.lo, self.hi)) * s


class QLinear(nn.Linear):
    def __init__(self, i, o, bits=3):
        super().__init__(i, o)
        self.wq, self.aq = LSQ(bits, True), LSQ(bits, False)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), QLinear(24, 24), nn.ReLU(), QLinear(24, 3))
    with torch.no_grad():
        net(torch.randn(16, 6))
    start = {n: p.detach().clone() for n, p in net.named_parameters()}
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        x = torch.randn(16, 6)
        loss = F.cross_entropy(net(x), x[:, :3].argmax(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return start, net


TRUTH = Truth()


def verify(out):
    start, net = out
    assert all(not torch.equal(p, start[n]) for n, p in net.named_parameters())
