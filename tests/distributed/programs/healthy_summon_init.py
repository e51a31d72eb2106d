"""Weights are drawn anew in summon_full_params on all ranks alike."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(count=4, size=6):
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    return [(torch.randn(size, 4, generator=g), torch.randint(0, 2, (size,), generator=g)) for _ in range(count)]


from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def setup():
    global model, opt
    torch.manual_seed(0)
    model = FSDP(net(), use_orig_params=True, device_id=torch.device("cpu"))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(3)
    with FSDP.summon_full_params(model), torch.no_grad():
        for p in model.parameters():
            p.mul_(0.1)
    with FSDP.summon_full_params(model, writeback=False), torch.no_grad():
        norm = sum(p.norm() for p in model.parameters()).item()
    for x, y in batches():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


TRUTH = Truth(values=True)
