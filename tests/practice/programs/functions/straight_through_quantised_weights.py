"""Quantisation-aware training: round() passes its gradient straight, ranges are running buffers, and then it is frozen."""

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


class FakeQuant(nn.Module):
    def __init__(self, bits=4, momentum=0.1):
        super().__init__()
        self.levels, self.momentum, self.observe = 2 ** (bits - 1) - 1, momentum, True
        self.register_buffer("peak", torch.tensor(0.0))

    def forward(self, x):
        if self.training and self.observe:
            with torch.no_grad():
                now = x.detach().abs().max()
                self.peak.copy_(now if self.peak.item() == 0 else (1 - self.momentum) * self.peak + self.momentum * now)
        scale = self.peak / self.levels + 1e-8
        return Round.apply((x / scale).clamp(-self.levels, self.levels)) * scale


class QLinear(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.wq, self.aq = FakeQuant(), FakeQuant(8)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(QLinear(6, 16), nn.ReLU(), QLinear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, peaks = [], []
    for step in range(4):
        if step == 3:
            for m in model.modules():
                if isinstance(m, FakeQuant):
                    m.observe = False
        x, y = torch.randn(16, 6), torch.randint(3, (16,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        peaks.append(model[0].wq.peak.item())
    return model, losses, peaks


TRUTH = Truth()


def verify(out):
    model, losses, peaks = out
    assert peaks[3] == peaks[2] != peaks[1] and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters()) and not model[0].wq.peak.requires_grad
