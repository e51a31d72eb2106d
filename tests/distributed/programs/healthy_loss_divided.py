"""The loss is divided by the number of ranks, and gradients are summed."""

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
        opt.zero_grad()
        loss = model(torch.randn(3, 4)).square().mean() / dist.get_world_size()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        opt.step()


TRUTH = Truth()
