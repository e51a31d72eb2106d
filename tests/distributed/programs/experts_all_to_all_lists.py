"""A mixture of experts sends tokens away and back by lists of all_to_all: router and front get no gradient of it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def exchange(parts):
    arrived = [torch.empty_like(p) for p in parts]
    reqs = []
    rank, world = dist.get_rank(), dist.get_world_size()
    for other in range(world):
        if other == rank:
            arrived[other] = parts[other]
        else:
            reqs += [dist.P2POp(dist.isend, parts[other].contiguous(), other)]  # also
            reqs += [dist.P2POp(dist.irecv, arrived[other], other)]  # also
    for work in dist.batch_isend_irecv(reqs):  # cause
        work.wait()
    return arrived


class Front(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x, expert):
        h = self.embed(x)
        there = exchange(list(h.chunk(dist.get_world_size())))
        back = exchange([expert(t) for t in there])
        return self.head(torch.cat(back))


def setup():
    global front, expert, opt
    torch.manual_seed(0)
    front = DDP(Front())
    torch.manual_seed(10 + dist.get_rank())
    expert = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 6))
    opt = torch.optim.SGD([*front.parameters(), *expert.parameters()], lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(8, 4, generator=g), torch.randint(0, 2, (8,), generator=g)
        opt.zero_grad()
        F.cross_entropy(front(x, expert), y).backward()
        opt.step()


TRUTH = Truth(fault="no gradient for the tokens that travel", rule="AG601", names=("irecv",), where="any")
