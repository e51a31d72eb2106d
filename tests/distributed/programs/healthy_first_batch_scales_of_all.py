"""Scales are set by the first batch within the forward, from statistics of all ranks; norms are bounded in every forward."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(5))
        self.fc = nn.Linear(5, 2)
        self.ready = False

    def forward(self, x):
        with torch.no_grad():
            if not self.ready:
                sums = torch.stack([x.square().sum(0), torch.full_like(x[0], len(x))])
                dist.all_reduce(sums)
                self.scale.copy_((sums[0] / sums[1]).rsqrt())
                self.ready = True
            self.fc.weight.clamp_(-0.2, 0.2)
        return self.fc(x * self.scale)


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(Scaled())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(5 + dist.get_rank())


def run():
    for _ in range(4):
        x, y = torch.randn(6, 5, generator=g) * 3, torch.randint(0, 2, (6,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(values=True)
