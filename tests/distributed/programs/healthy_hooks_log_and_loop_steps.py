"""Hooks of parameters only log their gradients; each parameter has an optimizer, which steps behind backward()."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opts
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    opts = [torch.optim.SGD([p], lr=0.05) for p in net.parameters()]


def run():
    norms = {}

    def log(p):
        norms[p] = p.grad.norm()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(log)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        net(torch.randn(3, 4, generator=g)).pow(2).mean().backward()
        for opt in opts:
            opt.step()
            opt.zero_grad()


TRUTH = Truth(values=True)
