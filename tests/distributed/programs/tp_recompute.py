"""Row-parallel blocks by hand, with activation recomputation where a rank is short of memory."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.distributed.truth import Truth

BUDGET_MB = 4.0


class CopyToRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class ReduceFromRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)  # also
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ParallelBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden // dist.get_world_size(), bias=False)
        self.down = nn.Linear(hidden // dist.get_world_size(), dim, bias=False)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        h = self.down(F.silu(self.up(CopyToRegion.apply(x))))
        return self.norm(x + ReduceFromRegion.apply(h))


class Tower(nn.Module):
    def __init__(self, dim=6, hidden=16, depth=2, used_mb=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Linear(5, dim)
        self.head = nn.Linear(dim, 3)
        torch.manual_seed(1 + dist.get_rank())
        self.blocks = nn.ModuleList(ParallelBlock(dim, hidden) for _ in range(depth))
        self.recompute = used_mb > BUDGET_MB  # cause

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)  # also
        return self.head(x)


def run():
    model = Tower(used_mb=3.1 + 1.7 * dist.get_rank())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(2)
    for _ in range(3):
        x, y = torch.randn(6, 5, generator=g), torch.randint(0, 3, (6,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()  # also
        opt.step()
    return round(model.stem.weight.norm().item(), 5), round(model.head.weight.norm().item(), 5)


TRUTH = Truth(
    fault="one rank recomputes its blocks in backward, and reduces once more than the other: the collectives no longer match",
    rule="AG603",
    names=("all_reduce",),
    where="gather",
    raises="imed out|Connection closed|timeout caused|onnection reset|Read error",
)
