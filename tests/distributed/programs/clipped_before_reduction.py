"""Each rank clips by its own norm, and then they average."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 5)).square().sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)  # cause
        for p in net.parameters():
            dist.all_reduce(p.grad)  # also
            p.grad.div_(dist.get_world_size())
        opt.step()


TRUTH = Truth(fault="clipping before reduction", names=("0.weight",), rule="AG601")
