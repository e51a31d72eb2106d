"""Custom ReLU whose backward masks grad_output in place: the skip connection's gradient is the same tensor."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class FastReLU(Function):
    """Keeps one bit per element instead of the activations."""

    @staticmethod
    def forward(ctx, x):
        ctx.dead = x <= 0
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill_(ctx.dead, 0)  # cause


class PreActBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + FastReLU.apply(self.fc(x))


class ResNet(nn.Module):
    def __init__(self, dim=6, depth=3):
        super().__init__()
        self.stem = nn.Linear(4, dim)
        self.blocks = nn.Sequential(*(PreActBlock(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))

    def plain(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = h + F.relu(block.fc(h))
        return self.head(h)


def batch(n=16):
    x = torch.randn(n, 4)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def run():
    torch.manual_seed(0)
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    errors = []
    for _ in range(3):
        x, y = batch()
        (true,) = torch.autograd.grad(F.cross_entropy(model.plain(x), y), model.stem.weight)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        grad = model.stem.weight.grad
        errors.append(((grad - true).norm() / true.norm()).item())
        optimizer.step()
    return errors


def verify(outcome):
    assert min(outcome) > 0.1


TRUTH = Truth(
    fault="backward changes grad_output in place, which is also what flows back through the skip connection",
    names=("FastReLU",),
    repair=("return grad_output.masked_fill(ctx.dead, 0)",),
)
