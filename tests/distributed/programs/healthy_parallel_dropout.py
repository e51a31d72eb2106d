"""Copy and Reduce where they belong: stem, column, row, head; a residual around."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(6), nn.Dropout(0.5)
        self.up, self.down = nn.Linear(6, 4), nn.Linear(4, 6, bias=False)

    def forward(self, x):
        h = Reduce.apply(self.down(F.gelu(self.up(Copy.apply(self.norm(x))))))
        return x + self.drop(h)


def setup():
    global stem, net, opt
    torch.manual_seed(0)
    stem, net = nn.Linear(6, 6), Block()
    torch.manual_seed(dist.get_rank())
    for lin in (net.up, net.down):
        lin.reset_parameters()
    opt = torch.optim.AdamW([*stem.parameters(), *net.parameters()], lr=0.01)
    torch.manual_seed(7)


def run():
    g = torch.Generator().manual_seed(3)
    for _ in range(2):
        opt.zero_grad()
        net(stem(torch.randn(4, 6, generator=g))).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
