"""Features of both ranks by all_gather: no gradient goes through it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global tower, opt
    torch.manual_seed(0)
    tower = DDP(nn.Linear(6, 4))
    opt = torch.optim.SGD(tower.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    x = torch.randn(3, 6, generator=g)
    z = F.normalize(tower(x), dim=1)
    parts = [torch.empty_like(z) for _ in range(2)]
    dist.all_gather(parts, z)  # cause
    everything = torch.cat(parts)  # also
    loss = F.cross_entropy(everything @ everything.t() / 0.1, torch.arange(6))
    opt.zero_grad()
    loss.backward()
    opt.step()


TRUTH = Truth(
    fault="all_gather has no gradient",
    names=("all_gather",),
    rule="AG105",
    raises="element 0 of tensors does not require grad",
)
