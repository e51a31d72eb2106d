"""Tensor parallel by hand, as Megatron writes it."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)

    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            g = g.contiguous()
            dist.all_reduce(g)
            return g

    class Reduce(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x = x.clone()
            dist.all_reduce(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    norm = nn.LayerNorm(4)
    torch.manual_seed(10 + rank)
    up, down = nn.Linear(4, 6), nn.Linear(6, 4, bias=False)
    bias = nn.Parameter(torch.zeros(4))
    opt = torch.optim.Adam([*norm.parameters(), *up.parameters(), *down.parameters(), bias], lr=0.01)
    torch.manual_seed(0)
    for _ in range(2):
        opt.zero_grad()
        x = torch.randn(3, 4)
        h = Copy.apply(norm(x))
        out = Reduce.apply(down(F.gelu(up(h)))) + bias
        (x + out).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
