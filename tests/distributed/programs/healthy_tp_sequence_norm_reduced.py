"""Sequence parallelism by hand; the gradient of the norm is summed."""

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


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()]


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x.chunk(dist.get_world_size())[dist.get_rank()]

    @staticmethod
    def backward(ctx, grad):
        parts = [torch.empty_like(grad) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, grad.contiguous())
        return torch.cat(parts)


class Block(nn.Module):
    def __init__(self, front):
        super().__init__()
        self.front = front
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        h = Gather.apply(self.front(x))
        return Scatter.apply(self.down(F.gelu(self.up(h))))


def setup():
    global model, opt
    torch.manual_seed(0)
    front = nn.LayerNorm(4)
    torch.manual_seed(1 + dist.get_rank())
    model = Block(front)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in same_batches():
        x, y = (t.chunk(2)[dist.get_rank()] for t in (x, y))
        opt.zero_grad()
        (F.mse_loss(model(x), y, reduction="sum") / 24).backward()
        for p in model.front.parameters():
            dist.all_reduce(p.grad)
        opt.step()


TRUTH = Truth(values=True)
