"""new_group is for everybody to call; only rank 0 does."""

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global net
    torch.manual_seed(0)
    net = nn.Linear(4, 2)


def run():
    group = None
    if dist.get_rank() == 0:
        group = dist.new_group([0, 1], timeout=timedelta(seconds=5))  # cause
    net(torch.randn(3, 4)).pow(2).mean().backward()
    for p in net.parameters():
        dist.all_reduce(p.grad, group=group)  # also


TRUTH = Truth(
    fault="group made on one rank", rule="AG603", names=("new_group",), where="any", raises="imed out|timeout|onnect"
)
