"""Rank 0 evaluates with its averaged weights and does not put the others back."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opt, ema
    torch.manual_seed(0)
    net = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(net.parameters(), lr=1e-1)
    ema = torch.optim.swa_utils.AveragedModel(net.module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for epoch in range(2):
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
            opt.step()
            ema.update_parameters(net.module)
        if dist.get_rank() == 0 and epoch == 0:
            with torch.no_grad():
                for p, q in zip(net.module.parameters(), ema.module.parameters()):
                    p.copy_(q)  # cause
                net.module(torch.randn(2, 4))


TRUTH = Truth(fault="weights differ", rule="AG601|AG602", names=("weight",), where="any")
