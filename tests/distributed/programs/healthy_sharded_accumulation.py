"""fully_shard with accumulation, clipping, ignored frozen parameters."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    model[2].requires_grad_(False)
    for i in (0, 2, 4):
        fully_shard(model[i])
    fully_shard(model)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for _ in range(2):
        for micro in range(2):
            model.set_requires_gradient_sync(micro == 1)
            (model(torch.randn(8, 4, generator=g)).pow(2).mean() / 2).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        norm.full_tensor()
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
