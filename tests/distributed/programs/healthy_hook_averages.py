"""A hook reduces the accumulated gradient after each micro-batch."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def average(p):
        dist.all_reduce(p.grad)
        p.grad /= 2

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(average)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(2):
        opt.zero_grad()
        for _ in range(2):
            (model(torch.randn(4, 4)).pow(2).mean() / 2).backward()
        opt.step()


TRUTH = Truth()
