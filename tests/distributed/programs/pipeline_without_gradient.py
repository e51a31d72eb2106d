"""A pipeline by hand whose second stage never sends a gradient back."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(0)
    stage = nn.Linear(4, 4)
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def run():
    torch.manual_seed(5)
    for _ in range(2):
        opt.zero_grad()
        if dist.get_rank() == 0:
            out = stage(torch.randn(2, 4))
            dist.send(out.detach(), 1)  # cause
        else:
            h = torch.empty(2, 4)
            dist.recv(h, 0)  # also
            stage(h).square().mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="the first stage gets no gradient", names=("weight",), rule="AG305", where="any")
