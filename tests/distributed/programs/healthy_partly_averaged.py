"""Every few steps the weights move half of the way to their mean over the ranks."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if step % 2:
            with torch.no_grad():
                for p in model.parameters():
                    mean = p.clone()
                    dist.all_reduce(mean)
                    p.lerp_(mean / dist.get_world_size(), 0.5)


TRUTH = Truth()
