"""A hook sums the accumulated gradient after each micro-batch."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def reduce(p):
        dist.all_reduce(p.grad)  # cause

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(reduce)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(2):
        opt.zero_grad()
        for _ in range(2):
            (model(torch.randn(4, 4)).pow(2).mean() / 4).backward()  # also
        opt.step()


TRUTH = Truth(fault="summed again", names=("0.weight",), rule="AG601")
