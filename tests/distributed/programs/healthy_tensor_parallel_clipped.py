"""A tensor-parallel model is clipped by the norm of everything: parts are summed over the ranks, common weights count once."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.front = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)
        torch.manual_seed(1 + dist.get_rank())
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        x = self.front(x)
        return self.head(x + Sum.apply(self.down(F.gelu(self.up(Copy.apply(x))))))


def setup():
    global model, opt
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        x, y = torch.randn(6, 4, generator=g) * 10, torch.randn(6, 2, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()
        common = [*model.front.parameters(), *model.head.parameters()]
        parts = [*model.up.parameters(), *model.down.parameters()]
        squares = sum(p.grad.square().sum() for p in parts)
        dist.all_reduce(squares)
        norm = (squares + sum(p.grad.square().sum() for p in common)).sqrt()
        for p in model.parameters():
            p.grad.mul_(torch.clamp(1.0 / (norm + 1e-6), max=1.0))
        opt.step()


TRUTH = Truth()
