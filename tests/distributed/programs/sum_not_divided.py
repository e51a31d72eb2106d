"""all_reduce sums, and nobody divides."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(3, 4, generator=g)
        F.mse_loss(model(x), x[:, :1]).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)  # cause
        opt.step()  # also


TRUTH = Truth(fault="the sum is not divided", names=("0.weight",), rule="AG601")
