"""Ranks agree on a length, pad, and gather."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    rank = dist.get_rank()
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for n in (4, 3 if rank else 4):
        opt.zero_grad()
        out = model(torch.randn(n, 4))
        out.pow(2).mean().backward()
        opt.step()
        size = torch.tensor([n])
        sizes = [torch.empty_like(size) for _ in range(2)]
        dist.all_gather(sizes, size)
        longest = max(s.item() for s in sizes)
        padded = F.pad(out.detach(), (0, 0, 0, longest - n))
        parts = [torch.empty_like(padded) for _ in range(2)]
        dist.all_gather(parts, padded)
        torch.cat([p[: s.item()] for p, s in zip(parts, sizes)]).mean().item()


TRUTH = Truth()
