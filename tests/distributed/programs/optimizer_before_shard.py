"""The optimizer is made, then the model is sharded."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth

from torch.distributed.fsdp import fully_shard


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)  # also
    fully_shard(model)  # cause
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        model(torch.randn(3, 4)).square().mean().backward()
        opt.step()
        opt.zero_grad()


TRUTH = Truth(fault="optimizer before sharding", names=("0.weight",), rule="AG405")
