"""Uneven data: rank 0 has more batches than the others; the Join context shadows the missing collectives."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, batches
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    mine = 4 if dist.get_rank() == 0 else 2
    batches = [(torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)) for _ in range(mine)]


def run():
    seen = 0
    with Join([model], divide_by_initial_world_size=False):
        for x, y in batches:
            F.cross_entropy(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            seen += len(x)
    total = torch.tensor(seen)
    dist.all_reduce(total)
    return int(total), round(model.module[0].weight.norm().item(), 5)


TRUTH = Truth()
