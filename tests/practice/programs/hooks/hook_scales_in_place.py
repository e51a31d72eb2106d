"""A hook meant for one branch scales its gradient in place, and that of the skip connection with it."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim, scale):
        super().__init__()
        self.branch = nn.Linear(dim, dim)
        self.skip = nn.Linear(dim, dim)
        self.scale = scale

    def forward(self, x):
        s, b = self.skip(x), self.branch(x)
        if b.requires_grad:
            b.register_hook(lambda g: g.mul_(self.scale))  # cause
        return b + s


def gradient(scale):
    torch.manual_seed(0)
    block = Block(4, scale)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    x = torch.randn(8, 4)
    loss = (block(x) - x).pow(2).mean()
    loss.backward()
    grad = block.skip.weight.grad.clone()
    optimizer.step()
    return grad


def run():
    return gradient(1.0), gradient(0.1)


TRUTH = Truth(
    fault="the gradient of the other branch is the same tensor",
    repair=("b.register_hook(lambda g: g * self.scale)",),
)


def verify(grads):
    assert not torch.allclose(*grads)
