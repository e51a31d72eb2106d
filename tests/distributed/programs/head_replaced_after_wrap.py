"""The classifier is exchanged after the wrapping: the new one is not the reducer's."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        return self.head(F.relu(self.body(x)))


def run():
    torch.manual_seed(0)
    model = DDP(Net(), find_unused_parameters=True)
    model.module.head = nn.Linear(6, 3)  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(4, 6, generator=g))
        F.cross_entropy(out, torch.randint(3, (4,), generator=g)).backward()  # also
        opt.step()


TRUTH = Truth(fault="head made after wrapping", names=("head.weight",), rule="AG605")
