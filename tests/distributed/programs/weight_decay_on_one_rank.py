"""A setting read from each machine's own file."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    config = {"lr": 0.01, "weight_decay": 0.0 if dist.get_rank() else 0.1}
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))
    opt = torch.optim.AdamW(model.parameters(), **config)  # cause
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(3, 4, generator=g)).square().mean().backward()
        opt.step()


TRUTH = Truth(fault="weight decay differs", names=("weight_decay",), rule="AG602", where="gather")
