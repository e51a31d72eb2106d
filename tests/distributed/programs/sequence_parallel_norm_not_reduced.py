"""Sequence parallel: LayerNorm runs on this rank's part of the sequence, then all-gather, a column/row-parallel MLP, reduce-scatter."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def gather(x):
    out = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x.contiguous())
    return torch.cat(out)


def scatter_sum(x):
    x = x.clone()
    dist.all_reduce(x)
    return x.chunk(dist.get_world_size())[dist.get_rank()].clone()


class GatherSeq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return gather(x)

    @staticmethod
    def backward(ctx, grad):
        return scatter_sum(grad)


class ReduceScatterSeq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return scatter_sum(x)

    @staticmethod
    def backward(ctx, grad):
        return gather(grad)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)  # the same on every rank
        torch.manual_seed(1 + dist.get_rank())
        self.up, self.down = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        return x + ReduceScatterSeq.apply(self.down(F.gelu(self.up(GatherSeq.apply(self.norm(x))))))  # also


def setup():
    global block, opt, g
    block = Block(6)
    opt = torch.optim.SGD(block.parameters(), lr=0.5)
    g = torch.Generator().manual_seed(0)


def reduce_replicated():
    for p in block.norm.parameters():
        dist.all_reduce(p.grad)


def run():
    for _ in range(3):
        seq, target = torch.randn(8, 6, generator=g), torch.randn(8, 6, generator=g)
        mine = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
        ((block(seq[mine]) - target[mine]).pow(2).sum() / 48).backward()
        opt.step()  # cause
        opt.zero_grad()
    return [round(v, 4) for v in block.norm.weight.tolist()]


TRUTH = Truth(
    fault="gradients of the replicated LayerNorm, each rank's from its part of the sequence, are never summed: the copies drift",
    rule="AG601",
    names=("norm",),
    where="gather",
    values=True,
)
