"""Sequence parallelism by hand: each rank's norm sees a part of the sequence, and its gradient is of that part alone."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


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
    def __init__(self, norm):
        super().__init__()
        self.norm = norm
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        h = Gather.apply(self.norm(x))  # also
        return x + Scatter.apply(self.down(F.gelu(self.up(h))))


def setup():
    global model, opt
    torch.manual_seed(0)
    norm = nn.LayerNorm(4)
    torch.manual_seed(1 + dist.get_rank())
    model = Block(norm)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        x, y = (torch.randn(6, 4, generator=g).chunk(2)[dist.get_rank()] for _ in range(2))
        opt.zero_grad()
        (F.mse_loss(model(x), y, reduction="sum") / 24).backward()  # also
        opt.step()  # cause


TRUTH = Truth(
    fault="gradients of the norm are not summed", rule="AG601", names=("norm.weight",), where="any", values=True
)
