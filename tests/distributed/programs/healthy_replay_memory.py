"""Recurrent state of each rank's own environment stays in a buffer across steps."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 4), nn.Linear(4, 2)
        self.register_buffer("state", torch.zeros(2, 4))

    def forward(self, x):
        h = self.cell(x, self.state.clone())
        self.state.copy_(h.detach())
        return self.head(h)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(Agent(), broadcast_buffers=False)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(2, 3, generator=g)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
