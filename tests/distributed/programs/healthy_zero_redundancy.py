"""ZeroRedundancyOptimizer beside DDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.distributed.optim import ZeroRedundancyOptimizer


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    opt = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        opt.step()


TRUTH = Truth()
