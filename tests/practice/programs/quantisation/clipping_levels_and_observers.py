"""PACT with weights quantised by a straight-through estimator; the observer is frozen and the statistics stop later."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class PACT(nn.Module):
    def __init__(self, bits=4, level=3.0):
        super().__init__()
        self.level = nn.Parameter(torch.tensor(level))
        self.steps = 2**bits - 1

    def forward(self, x):
        clipped = torch.minimum(x.clamp_min(0), self.level)
        scale = self.steps / self.level
        return Round.apply(clipped * scale) / scale


class QuantConv(nn.Conv2d):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_buffer("largest", torch.zeros(()))
        self.observing = True

    def forward(self, x):
        if self.observing:
            with torch.no_grad():
                now = self.weight.abs().max()
                self.largest.copy_(now if self.largest == 0 else 0.9 * self.largest + 0.1 * now)
        scale = self.largest / 7
        rounded = (self.weight / scale).round().clamp(-7, 7) * scale
        weight = self.weight + (rounded - self.weight).detach()
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(
        QuantConv(1, 8, 3, padding=1), nn.BatchNorm2d(8), PACT(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
    )
    levels = [m.level for m in net.modules() if isinstance(m, PACT)]
    rest = [p for p in net.parameters() if all(p is not level for level in levels)]
    opt = torch.optim.SGD([{"params": rest}, {"params": levels, "weight_decay": 1e-2}], lr=0.05, momentum=0.9)
    for step in range(4):
        if step == 2:
            net[0].observing = False
            net[1].eval()
        x, y = torch.randn(8, 1, 6, 6), torch.randint(4, (8,))
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()


TRUTH = Truth()
