"""The learning rate grows with the rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1 * (dist.get_rank() + 1))  # cause


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        opt.step()  # also


TRUTH = Truth(fault="lr differs", names=("lr",), rule="AG602", where="gather", before=True)
