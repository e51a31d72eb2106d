"""Weight norm is put on after the model is wrapped."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.parametrizations import weight_norm

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 1)), find_unused_parameters=True)
    weight_norm(model.module[0])  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(10 + dist.get_rank())
    for _ in range(3):
        x, y = torch.randn(6, 5), torch.randn(6, 1)
        opt.zero_grad()
        F.mse_loss(model(x), y).backward()
        opt.step()


TRUTH = Truth(
    fault="weight norm after wrap",
    names=("original0",),
    rule="AG605",
)
