"""Contrastive loss: own rows against everyone's columns, gathered without a graph but for the own slot."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 5), nn.Linear(7, 5)

    def forward(self, x, y):
        return F.normalize(self.a(x), dim=-1), F.normalize(self.b(y), dim=-1)


def build():
    torch.manual_seed(0)
    return Pair()


def batch(step):
    g = torch.Generator().manual_seed(step)
    return torch.randn(8, 8, generator=g), torch.randn(8, 7, generator=g)


def gathered(t):
    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t.detach())
    parts[dist.get_rank()] = t
    return torch.cat(parts)


def both_ways(za, zb):
    logits = 5 * za @ zb.t()
    target = torch.arange(len(logits))
    return F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)


def setup():
    global net, ddp, opt
    net = build()
    ddp = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.2)


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        za, zb = ddp(x.chunk(world)[rank], y.chunk(world)[rank])
        loss = both_ways(gathered(za), gathered(zb))
        opt.zero_grad()
        (loss * world).backward()
        opt.step()


TRUTH = Truth()
