"""A pipeline of torch's, right."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6), nn.Linear(6, 1))
    module = model[:2] if rank == 0 else model[2:]
    opt = torch.optim.SGD(module.parameters(), lr=0.1)
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda o, t: F.mse_loss(o, t))
    for _ in range(2):
        opt.zero_grad()
        x, y = torch.randn(8, 6), torch.randn(8, 1)
        if rank == 0:
            schedule.step(x)
        else:
            losses = []
            schedule.step(target=y, losses=losses)
            torch.stack(losses).mean().item()
        nn.utils.clip_grad_norm_(module.parameters(), 1e6)
        opt.step()


TRUTH = Truth(values=True)
