"""The statistics of a codebook are reduced before they enter it."""

import copy
import os
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4)
        self.dec = nn.Linear(4, 6)
        self.register_buffer("codebook", torch.randn(8, 4))

    def forward(self, x):
        z = self.enc(x)
        idx = torch.cdist(z, self.codebook).argmin(1)
        q = self.codebook[idx]
        if self.training:
            with torch.no_grad():
                one_hot = F.one_hot(idx, 8).float()
                count = one_hot.sum(0)
                total = one_hot.t() @ z.detach()
                dist.all_reduce(count)
                dist.all_reduce(total)
                self.codebook.mul_(0.99).add_(0.01 * total / count.clamp(min=1)[:, None])
        return self.dec(z + (q - z).detach()), F.mse_loss(z, q.detach())


def run():
    torch.manual_seed(0)
    model = DDP(VQ(), broadcast_buffers=False)
    opt = torch.optim.Adam(model.parameters())
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(4):
        x = torch.randn(16, 6, generator=g)
        out, commit = model(x)
        loss = F.mse_loss(out, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(values=True)
