"""Each rank steps its own part and broadcasts it."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, owner, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    owner = {p: n % 2 for n, p in enumerate(net.parameters())}
    opt = torch.optim.Adam([p for p, r in owner.items() if r == dist.get_rank()], lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        net.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2
        opt.step()
        for p, r in owner.items():
            dist.broadcast(p.data, r)


TRUTH = Truth(values=True)
