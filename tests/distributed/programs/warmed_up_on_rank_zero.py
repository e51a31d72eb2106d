"""Rank 0 trains a little before the model is wrapped; the momentum stays there."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    if rank == 0:
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(4, 4)).pow(2).mean().backward()
            opt.step()  # cause
    ddp = DDP(model)
    torch.manual_seed(rank)
    for _ in range(3):
        opt.zero_grad()
        ddp(torch.randn(4, 4)).pow(2).mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="optimizer state", names=("5 times on rank 0",), rule="AG603", where="gather")
