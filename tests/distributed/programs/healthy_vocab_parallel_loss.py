"""A cross entropy over a vocabulary that is spread over the ranks."""

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


class ParallelCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target):
        size = logits.shape[1]
        low = size * dist.get_rank()
        top = logits.max(dim=1).values
        dist.all_reduce(top, op=dist.ReduceOp.MAX)
        exp = (logits - top[:, None]).exp()
        total = exp.sum(dim=1)
        dist.all_reduce(total)
        mine = (target >= low) & (target < low + size)
        local = (target - low).clamp(0, size - 1)
        picked = torch.where(mine, (logits - top[:, None]).gather(1, local[:, None])[:, 0], torch.zeros(()))
        dist.all_reduce(picked)
        ctx.save_for_backward(exp / total[:, None], mine, local)
        return total.log() - picked

    @staticmethod
    def backward(ctx, grad):
        soft, mine, local = ctx.saved_tensors
        out = soft.clone()
        out[torch.arange(len(local)), local] -= mine.to(out.dtype)
        return out * grad[:, None], None


class Block(nn.Module):
    def __init__(self, front):
        super().__init__()
        self.front = front
        self.head = nn.Linear(4, 5, bias=False)

    def forward(self, x, y):
        return ParallelCrossEntropy.apply(self.head(Copy.apply(self.front(x))), y).mean()


def setup():
    global model, opt
    torch.manual_seed(0)
    front = nn.LayerNorm(4)
    torch.manual_seed(1 + dist.get_rank())
    model = Block(front)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g), torch.randint(0, 10, (6,), generator=g)).backward()
        opt.step()


TRUTH = Truth(values=True)
