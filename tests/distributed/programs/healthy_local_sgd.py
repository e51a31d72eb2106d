"""Each rank steps alone, weights are averaged every few steps."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(9 + dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        opt.step()
        if step % 2 == 1:
            with torch.no_grad():
                for p in model.parameters():
                    dist.all_reduce(p)
                    p /= dist.get_world_size()


TRUTH = Truth()
