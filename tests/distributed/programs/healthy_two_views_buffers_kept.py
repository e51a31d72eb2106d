"""Two views of a batch go through the wrapper one after the other; it is told to send no buffers."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))
    model = DDP(net, broadcast_buffers=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        first, second = model(x + 0.1), model(x - 0.1)
        opt.zero_grad()
        (F.mse_loss(first, second) + first.square().mean()).backward()
        opt.step()


TRUTH = Truth()
