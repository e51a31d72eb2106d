"""static_graph=True, and a layer is left out from the second iteration on."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x, i):
        h = self.a(x)
        return self.b(h) if i == 0 else h  # also


def run():
    torch.manual_seed(0)
    model = DDP(Net(), static_graph=True)  # also
    opt = torch.optim.SGD(model.parameters(), lr=1e-1)
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    for i in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g), i).pow(2).mean().backward()  # cause
        opt.step()


TRUTH = Truth(
    fault="the graph changes", names=("b.weight",), rule="AG603|AG301|AG601", where="any", raises="Expected|static|"
)
