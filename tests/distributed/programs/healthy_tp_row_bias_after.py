"""The bias of a row-parallel layer is added behind the sum."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

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


def same_batches(count=3):
    g = torch.Generator().manual_seed(5)
    return [(torch.randn(6, 4, generator=g), torch.randn(6, 4, generator=g)) for _ in range(count)]


class Block(nn.Module):
    def __init__(self, front):
        super().__init__()
        self.front = front
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)
        self.bias = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        h = Copy.apply(self.front(x))
        return Reduce.apply(self.down(F.gelu(self.up(h)))) + self.bias


def setup():
    global model, opt
    torch.manual_seed(0)
    front = nn.LayerNorm(4)
    torch.manual_seed(1 + dist.get_rank())
    model = Block(front)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in same_batches():
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()
        opt.step()


TRUTH = Truth(values=True)
