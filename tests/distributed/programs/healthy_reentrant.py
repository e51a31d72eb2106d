"""Each layer in a reentrant checkpoint of its own: the buckets are full when all of them are through."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.checkpoint import checkpoint


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), nn.Linear(4, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return self.head(x)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = DDP(Deep())
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for n in range(3):
        opt.zero_grad(set_to_none=n == 1)
        net(torch.randn(4, 4, generator=g).requires_grad_()).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(values=True)
