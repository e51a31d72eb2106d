"""Expert parallelism: tokens travel to the expert's rank and back by all_to_all_single."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        dist.all_to_all_single(out, grad.contiguous())
        return out


def exchange(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x.contiguous())  # cause
    return out


class MoEBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pre = nn.Linear(dim, dim)
        torch.manual_seed(50 + dist.get_rank())  # each rank has its own expert
        self.expert = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = torch.tanh(self.pre(x))
        there = exchange(h)  # also
        back = exchange(self.expert(there))  # also
        return x + back


def setup():
    global emb, block, head, opt, g
    torch.manual_seed(0)
    emb, head, block = nn.Linear(5, 6), nn.Linear(6, 3), MoEBlock(6)
    opt = torch.optim.SGD([*emb.parameters(), *block.parameters(), *head.parameters()], lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    before = block.expert[0].weight.clone(), block.pre.weight.clone()
    for _ in range(3):
        x, y = torch.randn(4, 5, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(head(block(emb(x))), y).backward()
        for p in [*emb.parameters(), *block.pre.parameters(), *head.parameters()]:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        opt.zero_grad()
    after = block.expert[0].weight, block.pre.weight
    return [round((a - b).norm().item(), 4) for a, b in zip(after, before)]


TRUTH = Truth(
    fault="all_to_all_single is not differentiable: expert and the layer before it get no gradient",
    rule="AG105",
    names=("all_to_all_single",),
    where="own",
)
