"""Two views of a batch go through a wrapper one after the other; it sends the same buffers before each."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Centred(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.register_buffer("scale", torch.ones(n))

    def forward(self, x):
        return self.linear(x) * self.scale


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(Centred(4), nn.ReLU(), nn.Linear(4, 3)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        first = model(x + 0.1)
        second = model(x - 0.1)
        opt.zero_grad()
        F.mse_loss(first, second).backward()
        opt.step()


TRUTH = Truth()
