"""The step in a hook of each parameter runs before DDP has reduced its bucket."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global net, opts
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opts = {p: torch.optim.SGD([p], lr=1e-2) for p in net.parameters()}


def run():
    def step(p):
        opts[p].step()  # cause
        opts[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)  # also
    ddp = DDP(net)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        ddp(torch.randn(4, 4, generator=g)).pow(2).mean().backward()  # also


TRUTH = Truth(fault="stepped before reduction", rule="AG601", names=("weight",), where="any")
