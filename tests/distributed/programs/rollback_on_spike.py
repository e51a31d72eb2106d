"""A rank whose loss jumps goes back to its last good weights, alone."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    good = copy.deepcopy(model.module.state_dict())
    average = None
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        x, y = torch.randn(6, 4, generator=g), torch.randn(6, 1, generator=g)
        if step == 2 and dist.get_rank() == 1:
            y = y + 40.0
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        value = loss.item()
        if average is not None and value > 5 * average:
            model.module.load_state_dict(good)  # cause
        else:
            good = copy.deepcopy(model.module.state_dict())
            average = value if average is None else 0.9 * average + 0.1 * value


TRUTH = Truth(
    fault="rolled back on one rank",
    names=("weight",),
    rule="AG601",
    where="gather",
)
