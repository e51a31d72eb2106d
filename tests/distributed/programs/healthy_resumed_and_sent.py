"""Rank 0 reads the checkpoint and sends it: weights, optimizer, schedule."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def build():
    net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    return net, opt, torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step))


def run():
    torch.manual_seed(dist.get_rank())
    net, opt, schedule = build()
    found = [None]
    if dist.get_rank() == 0:
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 5)).square().mean().backward()
            opt.step()
            schedule.step()
        found = [{"net": net.state_dict(), "opt": opt.state_dict(), "schedule": schedule.state_dict()}]
    dist.broadcast_object_list(found, src=0)
    net, opt, schedule = build()
    net.load_state_dict(found[0]["net"])
    opt.load_state_dict(found[0]["opt"])
    schedule.load_state_dict(found[0]["schedule"])
    model = DDP(net)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 5, generator=g)).square().mean().backward()
        opt.step()
        schedule.step()


TRUTH = Truth()
