"""Gathered negatives without gradient, this rank's own features put back with theirs, labels with an offset."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Linear(6, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(rank)
    for _ in range(2):
        x = torch.randn(4, 6, generator=g)
        q, k = F.normalize(model(torch.cat([x, x + 0.1])), dim=1).chunk(2)
        keys = torch.empty(8, 4)
        dist.all_gather_into_tensor(keys, k.detach().contiguous())
        keys = torch.cat([keys[: 4 * rank], k, keys[4 * rank + 4 :]])
        loss = F.cross_entropy(q @ keys.t() / 0.1, torch.arange(4) + 4 * rank)
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(values=True)
