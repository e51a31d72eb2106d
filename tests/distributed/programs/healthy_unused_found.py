"""A branch that only one rank takes, with find_unused_parameters."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.extra = nn.Linear(4, 4)

    def forward(self, x, use_extra):
        h = self.stem(x)
        return h + self.extra(h) if use_extra else h


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(Two(), find_unused_parameters=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(3, 4), use_extra=dist.get_rank() == 1).mean().backward()
        opt.step()


TRUTH = Truth()
