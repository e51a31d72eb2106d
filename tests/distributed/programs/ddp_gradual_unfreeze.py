"""Fine-tuning: head first, the encoder opens after a warm-up epoch."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 20))
        self.head = nn.Linear(20, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.encoder(x)))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)  # also


def loader(epoch):
    g = torch.Generator().manual_seed(epoch * 17 + dist.get_rank())
    for _ in range(3):
        x = torch.randn(8, 10, generator=g)
        yield x, (x.sum(1) > 0).long()


def setup():
    global net, ddp, opt
    torch.manual_seed(3)
    net = Model()
    set_trainable(net.encoder, False)
    ddp = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def run():
    global ddp
    for epoch in range(2):
        if epoch == 1:
            set_trainable(net.encoder, True)  # cause
        for x, y in loader(epoch):
            opt.zero_grad()
            nn.functional.cross_entropy(ddp(x), y).backward()
            opt.step()


TRUTH = Truth(
    rule="AG605",
    fault="parameters unfrozen after the wrap are not in any bucket",
    names=("encoder.0.weight", "encoder.0.bias", "encoder.2.weight", "encoder.2.bias"),
    where="own",
)
