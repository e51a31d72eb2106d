"""A part is frozen on one rank; gradients are averaged by hand where there are any."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    if dist.get_rank() == 1:
        model[0].requires_grad_(False)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(3, 4, generator=g)).square().mean().backward()
        for p in model.parameters():
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= 2
        opt.step()  # also


TRUTH = Truth(fault="requires_grad differs", names=("0.weight",), rule="AG602", where="gather", before=True)
