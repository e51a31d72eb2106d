"""Custom Function: scales its input in place without mark_dirty, the skip connection uses the scaled value with the old gradient."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class ScaleInPlace(Function):
    """Memory saving y = c * x: no second activation is allocated."""

    @staticmethod
    def forward(ctx, x, c):
        ctx.c = c
        x.mul_(c)  # also
        return x  # cause

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.c, None


class ResidualBlock(nn.Module):
    def __init__(self, dim, scale=0.25):
        super().__init__()
        self.pre = nn.Linear(dim, dim)
        self.post = nn.Linear(dim, dim, bias=False)
        self.scale = scale

    def forward(self, x):
        h = self.pre(x)
        scaled = ScaleInPlace.apply(h, self.scale)
        return h + torch.tanh(self.post(scaled))


class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.block = ResidualBlock(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(self.block(x)).squeeze(-1)


def numeric(model, x, y, index, eps=1e-5):
    bias = model.block.pre.bias
    values = []
    with torch.no_grad():
        for sign in (1, -1):
            bias[index] += sign * eps
            values.append(F.mse_loss(model(x), y))
            bias[index] -= sign * eps
    return ((values[0] - values[1]) / (2 * eps)).item()


def run():
    torch.manual_seed(0)
    model = Net().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    pairs = []
    for _ in range(3):
        x = torch.randn(16, 6, dtype=torch.double)
        y = x.sum(1)
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        pairs.append((model.block.pre.bias.grad[0].item(), numeric(model, x, y, 0)))
        optimizer.step()
    return pairs


def verify(outcome):
    for analytic, numerical in outcome:
        assert abs(analytic - numerical) > 0.1 * abs(numerical)


TRUTH = Truth(
    fault="the Function changes its input in place and does not mark it dirty, later uses of it get a wrong gradient",
    names=("ScaleInPlace",),
    repair=("ctx.mark_dirty(x)\nreturn x",),
)
