"""Weights broadcast once, gradients averaged by hand."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


TRUTH = Truth(values=True)
