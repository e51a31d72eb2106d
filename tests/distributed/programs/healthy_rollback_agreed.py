"""All ranks go back together, as a reduced flag says; hooks of tensors only look."""

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
    seen = []
    for p in model.parameters():
        p.register_hook(lambda g: seen.append(g.norm()))
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
        spike = torch.tensor(float(average is not None and value > 5 * average))
        dist.all_reduce(spike, op=dist.ReduceOp.MAX)
        if spike > 0:
            model.module.load_state_dict(good)
        else:
            good = copy.deepcopy(model.module.state_dict())
            average = value if average is None else 0.9 * average + 0.1 * value


TRUTH = Truth(values=True)
