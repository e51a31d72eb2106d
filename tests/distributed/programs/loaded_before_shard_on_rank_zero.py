"""Rank 0 alone loads the weights before the model is sharded."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    saved = {k: torch.ones_like(v) for k, v in model.state_dict().items()}
    if rank == 0:
        model.load_state_dict(saved)  # cause
    fully_shard(model)  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(4, 4)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth(fault="loaded on rank 0", names=("0.weight",), rule="AG601", where="gather")
