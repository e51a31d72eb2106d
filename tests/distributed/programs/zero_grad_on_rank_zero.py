"""Only rank 0 clears its gradients."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        model(torch.randn(3, 4)).square().mean().backward()  # also
        opt.step()  # also
        if dist.get_rank() == 0:
            opt.zero_grad()  # cause


TRUTH = Truth(fault="one rank clears", names=("weight",), rule="AG305", where="any")
