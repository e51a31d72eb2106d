"""Local SGD: the replicas drift for some steps on purpose, then their weights are averaged; momentum stays local."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

EVERY = 3


def setup():
    global net, opt, slow, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    slow = [(p.detach().clone(), torch.zeros_like(p)) for p in net.parameters()]
    g = torch.Generator().manual_seed(dist.get_rank())


@torch.no_grad()
def synchronise(lr=0.1, beta=0.5):
    world = dist.get_world_size()
    for p, (anchor, momentum) in zip(net.parameters(), slow):
        average = p.detach().clone()
        dist.all_reduce(average)
        average /= world
        momentum.mul_(beta).add_((anchor - average) / lr)
        anchor.sub_(momentum, alpha=lr)
        p.copy_(anchor)


def run():
    seen = []
    for step in range(2 * EVERY):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(net(x), y).backward()
        opt.step()
        opt.zero_grad()
        if (step + 1) % EVERY == 0:
            synchronise()
            seen.append(round(net[0].weight.norm().item(), 5))
    return seen


TRUTH = Truth()
