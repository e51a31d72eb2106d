"""The loss comes from the module inside the wrapper, so that nothing is reduced."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, data
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    data = [(torch.randn(4, 6, generator=g), torch.randint(0, 2, (4,), generator=g)) for _ in range(3)]


def run():
    for x, y in data:
        opt.zero_grad()
        logits = model.module(x)  # cause
        F.cross_entropy(logits, y).backward()  # also
        opt.step()


TRUTH = Truth(fault="the wrapper's forward is not called", names=("0.weight",), rule="AG601")
