"""A column- and a row-parallel layer with Functions of their own; the norm in front is replicated."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

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


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        return Reduce.apply(self.down(F.gelu(self.up(Copy.apply(self.norm(x))))))


def setup():
    global model, opt
    torch.manual_seed(dist.get_rank())
    model = Block()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(3)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(2, 4)).square().mean().backward()
        for p in model.norm.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2
        opt.step()


TRUTH = Truth(values=True)
