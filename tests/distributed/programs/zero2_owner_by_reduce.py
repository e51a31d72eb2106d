"""ZeRO-2 by hand: each parameter's gradient is reduced to its owner, every rank steps all, nothing is sent back."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    world = dist.get_world_size()
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        for i, p in enumerate(model.parameters()):
            p.grad.div_(world)
            dist.reduce(p.grad, dst=i % world)  # also
        opt.step()  # cause


TRUTH = Truth(fault="each rank steps what it does not own as well", rule="AG601", names=("weight",), where="any")
