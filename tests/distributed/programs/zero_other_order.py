"""A ZeroRedundancyOptimizer gets its parameters in another order on each rank."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model
    torch.manual_seed(0)
    model = DDP(nn.Sequential(*(nn.Linear(4, 4) for _ in range(4))))


def run():
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    parameters = sorted(model.parameters(), key=lambda p: p.sum().item() * (-1) ** dist.get_rank())
    opt = ZeroRedundancyOptimizer(parameters, optimizer_class=torch.optim.SGD, lr=0.1)  # cause
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x), x).backward()
        opt.step()


TRUTH = Truth(fault="parameters in another order", rule="AG602", names=("1.weight",), where="gather")
