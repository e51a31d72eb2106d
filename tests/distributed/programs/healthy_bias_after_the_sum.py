"""A row-parallel layer adds its bias after the sum over ranks."""

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
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class ParallelMLP(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        n, r = dist.get_world_size(), dist.get_rank()
        up, down = nn.Linear(d, hidden), nn.Linear(hidden, d)
        self.up, self.up_bias = (nn.Parameter(t.detach().chunk(n)[r].clone()) for t in (up.weight, up.bias))
        self.down = nn.Parameter(down.weight.detach().chunk(n, 1)[r].clone())
        self.bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        h = F.gelu(F.linear(Copy.apply(x), self.up, self.up_bias))
        return Sum.apply(F.linear(h, self.down)) + self.bias


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), ParallelMLP(6, 12), nn.Linear(6, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(1)
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()
    return round(model[1].bias.norm().item(), 4)


TRUTH = Truth(values=True)
