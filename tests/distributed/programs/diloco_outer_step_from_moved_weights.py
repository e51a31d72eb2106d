"""DiLoCo: inner AdamW steps on each rank, then an outer Nesterov step on the averaged displacement."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

INNER = 3


def setup():
    global net, inner, outer, anchor, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    inner = torch.optim.AdamW(net.parameters(), lr=1e-2)
    outer = torch.optim.SGD(net.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    anchor = [p.detach().clone() for p in net.parameters()]
    g = torch.Generator().manual_seed(dist.get_rank())


def outer_step():
    world = dist.get_world_size()
    for p, a in zip(net.parameters(), anchor):
        p.grad = a - p.data
        dist.all_reduce(p.grad)
        p.grad /= world
    outer.step()  # cause
    outer.zero_grad()
    for p, a in zip(net.parameters(), anchor):
        a.copy_(p.data)  # also


def run():
    sums = []
    for _ in range(3):
        for _ in range(INNER):
            x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
            F.cross_entropy(net(x), y).backward()
            inner.step()
            inner.zero_grad()
        outer_step()
        sums.append(round(net[0].weight.norm().item(), 5))
    return sums


TRUTH = Truth(
    fault="outer step applied to the ranks' moved weights, not to the common anchor: replicas differ after the synchronisation",
    rule="AG601",
    names=("SGD",),
    where="own",
)
