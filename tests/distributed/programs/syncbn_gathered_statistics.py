"""A batch norm by hand gathers means and variances of all ranks: no gradient goes through them."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def gathered(t):
    parts = [torch.zeros_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t)  # cause
    return torch.stack(parts)


class SyncNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(n)), nn.Parameter(torch.zeros(n))
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if self.training:
            stats = gathered(torch.stack([x.mean(0), x.pow(2).mean(0)])).mean(0)
            mean, var = stats[0], stats[1] - stats[0].pow(2)
            self.running.lerp_(mean.detach(), 0.1)
        else:
            mean, var = self.running, torch.ones_like(self.running)
        return (x - mean) * torch.rsqrt(var + 1e-5) * self.weight + self.bias


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), SyncNorm(8), nn.ReLU(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(6, 4, generator=g), torch.randint(0, 2, (6,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(fault="no gradient through the statistics", rule="AG601|AG101|AG102|AG104|AG105", names=("all_gather",))
