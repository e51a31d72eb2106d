"""Gradients are averaged by hand, for the weights and not the biases."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(3, 4, generator=g)).square().mean().backward()  # also
        for p in model.parameters():
            if p.dim() > 1:
                dist.all_reduce(p.grad)  # cause
                p.grad /= dist.get_world_size()
        opt.step()  # also


TRUTH = Truth(fault="biases are not averaged", names=("0.bias",), rule="AG601")
