"""A row-parallel sum by torch.distributed.nn: its backward sums what every rank has already."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
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


class Mlp(nn.Module):
    def __init__(self, front):
        super().__init__()
        self.front = front
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        h = Copy.apply(self.front(x))
        return differentiable.all_reduce(self.down(F.gelu(self.up(h))))  # cause


def setup():
    global model, opt
    torch.manual_seed(0)
    front = nn.LayerNorm(4)
    torch.manual_seed(1 + dist.get_rank())
    model = Mlp(front)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        x, y = torch.randn(6, 4, generator=g), torch.randn(6, 4, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()  # also
        opt.step()


TRUTH = Truth(fault="gradients twice as large", rule="AG601", values=True, where="any")
