"""fully_shard, then the optimizer."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth

from torch.distributed.fsdp import fully_shard


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        model(torch.randn(3, 4)).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
