"""Only rank 0 asks for the consolidated state of the optimizer."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.optim import ZeroRedundancyOptimizer

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)))
    opt = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-2)
    torch.manual_seed(1 + dist.get_rank())
    for epoch in range(2):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(6, 4)).square().mean().backward()
            opt.step()
        if dist.get_rank() == 0:
            opt.consolidate_state_dict(to=0)  # cause
            opt.state_dict()


TRUTH = Truth(
    fault="consolidate on one rank",
    names=("broadcast",),
    rule="AG603",
    where="gather",
    raises="imed out|closed by peer|timeout",
)
