"""DDP over a recurrent-depth network whose single block is applied twice, each time under reentrant checkpointing."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

from tests.distributed.truth import Truth


class RecurrentDepth(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth
        self.inp = nn.Linear(6, 8)
        self.block = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        h = self.inp(x)
        for _ in range(self.depth):
            h = h + checkpoint(self.block, h, use_reentrant=True)  # cause
        return self.out(h)


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(RecurrentDepth(2))  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for _ in range(3):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        F.cross_entropy(model(x), y).backward()  # also
        opt.step()
        opt.zero_grad()
    return round(model.module.block[0].weight.norm().item(), 5)


TRUTH = Truth(
    fault="the shared block's parameters become ready twice in one backward: reentrant checkpointing runs two nested backwards",
    rule="AG603",
    names=("block",),
    where="any",
    raises="mark a variable ready only once",
)
