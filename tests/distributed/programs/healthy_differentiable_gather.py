"""Features gathered by torch.distributed.nn under DDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.distributed.nn.functional import all_gather


def setup():
    global tower, opt
    torch.manual_seed(0)
    tower = DDP(nn.Linear(6, 4))
    opt = torch.optim.SGD(tower.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        z = F.normalize(tower(torch.randn(3, 6, generator=g)), dim=1)
        everything = torch.cat(all_gather(z))
        loss = F.cross_entropy(everything @ everything.t() / 0.1, torch.arange(6))
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
