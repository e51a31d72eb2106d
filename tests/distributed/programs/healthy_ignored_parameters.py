"""A part is left to this rank on purpose."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.own = nn.Linear(4, 1)

    def forward(self, x):
        return self.own(self.shared(x))


def setup():
    global model, opt
    torch.manual_seed(0)
    net = Net()
    DDP._set_params_and_buffers_to_ignore_for_model(net, ["own.weight", "own.bias"])
    model = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()


TRUTH = Truth()
