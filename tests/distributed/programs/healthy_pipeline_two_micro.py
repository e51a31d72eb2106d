"""A pipeline by hand with two micro-batches."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh()) if dist.get_rank() == 0 else nn.Linear(4, 2)
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def data():
    g = torch.Generator().manual_seed(3)
    return [
        [(torch.randn(5, 4, generator=g), torch.randint(0, 2, (5,), generator=g)) for _ in range(2)] for _ in range(3)
    ]


def run():
    for micro in data():
        opt.zero_grad()
        if dist.get_rank() == 0:
            kept = []
            for x, _ in micro:
                out = stage(x)
                dist.send(out.detach(), 1)
                kept.append(out)
            for _ in micro:
                grad = torch.empty(5, 4)
                dist.recv(grad, 1)
                kept.pop(0).backward(grad)
        else:
            received = []
            for _ in micro:
                x = torch.empty(5, 4)
                dist.recv(x, 0)
                received.append(x.requires_grad_())
            for x, (_, y) in zip(received, micro):
                (F.cross_entropy(stage(x), y) / 2).backward()
                dist.send(x.grad, 0)
        opt.step()


TRUTH = Truth(values=True)
