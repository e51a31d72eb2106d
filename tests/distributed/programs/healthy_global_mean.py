"""Sums of losses are divided by the number of samples of all ranks."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(9 + dist.get_rank())
    for _ in range(2):
        x = torch.randn(3 + dist.get_rank(), 4)
        count = torch.tensor(float(len(x)))
        dist.all_reduce(count)
        opt.zero_grad()
        (model(x).square().sum() / count).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        opt.step()


TRUTH = Truth()
