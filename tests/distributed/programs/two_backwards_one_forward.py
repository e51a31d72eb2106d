"""Two losses of one forward, each with a backward of its own: only the first is reduced."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        out = model(torch.randn(3, 4, generator=g))  # also
        opt.zero_grad()
        out[:, 0].square().mean().backward(retain_graph=True)  # also
        out[:, 1].square().mean().backward()  # cause
        opt.step()


TRUTH = Truth(fault="the second backward is not reduced", names=("weight",), rule="AG601")
