"""require_backward_grad_sync is switched off by hand and never on again."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)))
    model.require_backward_grad_sync = False  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.05)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(2, 4)).square().mean()  # cause
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="synchronisation is off", names=("0.weight",), rule="AG601")
