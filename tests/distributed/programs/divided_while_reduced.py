"""Gradients are divided while they are still summed."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def small():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


def setup():
    global model, opt
    torch.manual_seed(0)
    model = small()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        works = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]  # also
        for p in model.parameters():
            p.grad /= dist.get_world_size()  # cause
        for work in works:
            work.wait()
        opt.step()


TRUTH = Truth(fault="gradients are divided while they are summed", rule="AG601", names=("0.weight",))
