"""The state of the scheduler is loaded on rank 0 only."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, schedule
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    model = DDP(net)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step))
    checkpoint = {"schedule": schedule.state_dict() | {"last_epoch": 40}}
    if dist.get_rank() == 0:
        schedule.load_state_dict(checkpoint["schedule"])


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 5, generator=g)).square().mean().backward()
        opt.step()  # cause
        schedule.step()  # also


TRUTH = Truth(fault="the schedules are at different steps", rule="AG602", names=("lr",), where="gather")
