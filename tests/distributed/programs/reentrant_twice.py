"""One layer in several reentrant checkpoints: what comes behind the first reduction stays with its rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.checkpoint import checkpoint


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        for _ in range(2):
            x = checkpoint(self.block, x, use_reentrant=True)  # cause
        return self.head(x)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(Shared())
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(4, 4, generator=g).requires_grad_()).pow(2).mean().backward()  # also
        opt.step()  # also


TRUTH = Truth(fault="accumulated behind the reduction", rule="AG601", names=("block",))
