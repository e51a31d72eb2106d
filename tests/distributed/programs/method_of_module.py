"""The wrapper is bypassed by a method of the model: `ddp.module.training_step`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Task(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 10)
        self.head = nn.Linear(10, 3)

    def forward(self, x):
        return self.head(self.encoder(x).relu())

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y)  # also


def setup():
    global wrapped, opt
    torch.manual_seed(0)
    wrapped = DDP(Task())
    opt = torch.optim.AdamW(wrapped.parameters())


def run():
    g = torch.Generator().manual_seed(7 + dist.get_rank())
    for _ in range(2):
        batch = torch.randn(4, 10, generator=g), torch.randint(3, (4,), generator=g)
        loss = wrapped.module.training_step(batch)  # cause
        opt.zero_grad()
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="the wrapper's forward is not called", names=("encoder.weight",), rule="AG601")
