"""Each rank begins with weights of its own, and gradients are averaged by hand."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(dist.get_rank())
    model = nn.Linear(4, 2)  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()  # also
        for p in model.parameters():
            dist.all_reduce(p.grad)  # cause
            p.grad /= 2
        opt.step()  # also


TRUTH = Truth(fault="weights differ", names=("weight",), rule="AG601", where="gather", values=True, before=True)
