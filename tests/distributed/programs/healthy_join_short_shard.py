"""Uneven inputs under DDP with the join context."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def shard():
    g = torch.Generator().manual_seed(dist.get_rank())
    return [torch.randn(6, 5, generator=g) for _ in range(3 + 2 * dist.get_rank())]


def setup():
    global model, opt, data
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    data = shard()


def run():
    local = torch.zeros(2)
    with model.join(divide_by_initial_world_size=False):
        for x in data:
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
            local += torch.tensor([loss.item(), 1.0])
    dist.all_reduce(local)
    return local[0] / local[1]


TRUTH = Truth()
