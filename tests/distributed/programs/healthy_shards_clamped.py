"""The shards are clamped where they are; gathered copies are only looked at."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    for part in (critic[0], critic[2], critic):
        fully_shard(part)
    opt = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(3):
        real, fake = torch.randn(6, 4), torch.rand(6, 4)
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean()).backward()
        opt.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.01, 0.01)
            for p in critic.parameters():
                p.to_local().clamp_(-0.01, 0.01)
            sizes = [p.full_tensor().abs_().max() for p in critic.parameters()]
            scaled = [p.full_tensor().div_(1 + sizes[i]) for i, p in enumerate(critic.parameters())]
            torch.stack([s.norm() for s in scaled]).norm().item()


TRUTH = Truth(values=True)
