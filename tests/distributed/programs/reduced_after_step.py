"""The gradients are averaged behind the step."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def average(module):
    size = float(dist.get_world_size())
    for p in module.parameters():
        dist.all_reduce(p.grad.data)  # cause
        p.grad.data /= size


def setup():
    global net, sgd
    torch.manual_seed(1)
    net = nn.Linear(5, 2)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        sgd.zero_grad()
        loss = net(torch.randn(4, 5)).square().mean()
        loss.backward()
        sgd.step()  # also
        average(net)  # also


TRUTH = Truth(fault="reduction behind the step", names=("weight",), rule="AG601")
