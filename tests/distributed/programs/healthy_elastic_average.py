"""Elastic averaging: each rank's weights are pulled towards a centre that all ranks move, and stay its own."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, centre
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    centre = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def pull(alpha=0.3):
    for c, p in zip(centre, model.parameters()):
        away = alpha * (p - c)
        p.sub_(away)
        dist.all_reduce(away)
        c.add_(away / dist.get_world_size())


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if step % 2:
            pull()


TRUTH = Truth()
