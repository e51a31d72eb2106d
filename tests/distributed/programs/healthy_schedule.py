"""Two stages of 1F1B with clipping by the norm of each stage's own parameters left out."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def setup():
    global part, stage, opt
    torch.manual_seed(dist.get_rank())
    part = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    stage = PipelineStage(part, dist.get_rank(), 2, torch.device("cpu"))
    opt = torch.optim.Adam(part.parameters(), lr=0.1)


def run():
    sched = Schedule1F1B(stage, 4, loss_fn=F.mse_loss)
    g = torch.Generator().manual_seed(2)
    for _ in range(2):
        x = torch.randn(8, 4, generator=g)
        sched.step(x) if dist.get_rank() == 0 else sched.step(target=x)
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
