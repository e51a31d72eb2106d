"""The gradients are averaged before backward makes them."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net, sgd
    torch.manual_seed(1)
    net = nn.Linear(5, 2)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for p in net.parameters():
        p.grad = torch.zeros_like(p)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        sgd.zero_grad(set_to_none=False)
        loss = net(torch.randn(4, 5)).square().mean()
        for p in net.parameters():
            dist.all_reduce(p.grad)  # cause
            p.grad /= dist.get_world_size()
        loss.backward()  # also
        sgd.step()  # also


TRUTH = Truth(fault="reduction before backward", names=("weight",), rule="AG601")
