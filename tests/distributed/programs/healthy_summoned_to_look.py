"""Full parameters are looked at without writeback, and edited with it."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = FSDP(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), device_id=torch.device("cpu"), use_orig_params=True
    )
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    torch.manual_seed(1 + dist.get_rank())
    kept = {}
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(6, 4)).square().mean().backward()
        opt.step()
        with FSDP.summon_full_params(model, writeback=False), torch.no_grad():
            for name, p in model.named_parameters():
                kept[name] = p.clone() if name not in kept else kept[name].lerp_(p, 0.1)
        with FSDP.summon_full_params(model), torch.no_grad():
            for p in model.parameters():
                p.clamp_(-1.0, 1.0)


TRUTH = Truth(values=True)
