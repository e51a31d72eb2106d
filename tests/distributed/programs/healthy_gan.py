"""Two wrapped networks against each other."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global G, D, og, od
    torch.manual_seed(0)
    G, D = DDP(nn.Linear(2, 4)), DDP(nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)))
    og, od = (torch.optim.Adam(m.parameters(), lr=1e-3) for m in (G, D))


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        real, z = torch.randn(5, 4), torch.randn(5, 2)
        od.zero_grad()
        fake = G(z)
        (F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()).backward()
        od.step()
        og.zero_grad()
        for p in D.parameters():
            p.requires_grad_(False)
        F.softplus(-D.module(G(z))).mean().backward()
        for p in D.parameters():
            p.requires_grad_(True)
        og.step()


TRUTH = Truth()
