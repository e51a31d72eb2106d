"""ZeRO by hand: each rank steps its own part, and what the others stepped never arrives."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, mine, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    mine = list(net.parameters())[dist.get_rank() :: 2]
    opt = torch.optim.Adam(mine, lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        net.zero_grad()
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 2
        opt.step()  # cause


TRUTH = Truth(fault="shards not gathered", rule="AG602|AG404", names=("0.weight",), where="any")
