"""The critic's weights are clamped in the gathered copies: its shards keep their values."""

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
                p.full_tensor().clamp_(-0.01, 0.01)  # cause


TRUTH = Truth(
    fault="the clamp is lost",
    names=("full_tensor",),
    rule="AG205",
)
