"""A step in a hook of each parameter that has averaged its gradient itself."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, opts
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opts = {p: torch.optim.SGD([p], lr=1e-2) for p in net.parameters()}


def run():
    def step(p):
        dist.all_reduce(p.grad)
        p.grad /= 2
        opts[p].step()
        opts[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()


TRUTH = Truth(values=True)
