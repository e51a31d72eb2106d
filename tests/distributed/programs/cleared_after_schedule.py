"""The gradients that the pipeline's schedule made are cleared before the step."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6), nn.Linear(6, 1))
    part = model[:2] if rank == 0 else model[2:]
    opt = torch.optim.AdamW(part.parameters(), lr=1e-2)
    schedule = ScheduleGPipe(
        PipelineStage(part, rank, 2, torch.device("cpu")), n_microbatches=2, loss_fn=lambda o, t: F.mse_loss(o, t)
    )
    for _ in range(3):
        x, y = torch.randn(8, 6), torch.randn(8, 1)
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y)
        opt.zero_grad()  # cause
        opt.step()  # also


TRUTH = Truth(
    fault="cleared before the step",
    names=("zero_grad",),
    rule="AG305",
)
