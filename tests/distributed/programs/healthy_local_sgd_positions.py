"""Ranks train alone and average now and then; a layer sums statistics, and positions are embedded alike on all of them."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos, self.inp, self.out = nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = self.inp(x) + self.pos(torch.arange(5))
        mean = h.detach().mean((0, 1))
        dist.all_reduce(mean)
        return self.out(h - mean / 2)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = Encoder()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        net(torch.randn(3, 5, 4, generator=g)).pow(2).mean().backward()
        opt.step()
        if step % 2 == 1:
            with torch.no_grad():
                for p in net.parameters():
                    dist.all_reduce(p)
                    p /= 2


TRUTH = Truth(values=True)
