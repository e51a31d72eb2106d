"""PACT: the learned clipping level is read with `item()`, so only its penalty moves it."""

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
    def __init__(self, bits=4, level=6.0):
        super().__init__()
        self.level = nn.Parameter(torch.tensor(level))
        self.steps = 2**bits - 1

    def forward(self, x):
        clipped = x.clamp(0, self.level.item())  # cause
        scale = self.steps / self.level.detach()
        return Round.apply(clipped * scale) / scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.act = PACT(level=1.0)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.act(self.conv(x) * 4).mean((2, 3)))


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        x, y = torch.randn(8, 1, 6, 6), torch.randint(4, (8,))
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    return net.act.level.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the clamp gets a number: the level has no gradient",
    names=("level", "item"),
    repair=("clipped = torch.minimum(x.clamp_min(0), self.level)",),
)
