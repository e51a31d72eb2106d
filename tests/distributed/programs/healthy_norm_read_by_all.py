"""All ranks read the norm of the sharded gradients and a whole weight; rank 0 prints."""

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
    lines = []
    for step in range(3):
        model(torch.randn(3, 4, generator=g)).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
        largest = model[0].weight.full_tensor().abs().max()
        if dist.get_rank() == 0:
            lines.append(f"step {step}: norm {norm.item():.3f}, largest weight {largest.item():.3f}")
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
