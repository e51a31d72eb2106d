"""A checkpoint is loaded on rank 0, behind the wrapping."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, saved
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    saved = {name: torch.full_like(t, 0.5) for name, t in model.module.state_dict().items()}


def run():
    torch.manual_seed(dist.get_rank())
    if dist.get_rank() == 0:
        model.module.load_state_dict(saved)  # cause
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        opt.step()


TRUTH = Truth(fault="loaded on one rank", names=("weight",), rule="AG601", where="gather")
