"""Rank 0 prints the norm of a sharded weight: reading it needs all ranks."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(3):
        model(torch.randn(3, 4, generator=g)).square().mean().backward()
        norm = model[0].weight.detach().norm()
        if dist.get_rank() == 0:
            print(f"step {step}: norm {norm.full_tensor().item():.3f}", file=open("/dev/null", "w"))  # cause
        opt.step()
        opt.zero_grad()


TRUTH = Truth(
    fault="a collective on rank 0 only",
    rule="AG603",
    where="gather",
    raises="imed out|timeout caused|onnection closed",
)
