"""ZeRO-1 by hand: reduce_scatter of a flat gradient, own shard stepped, all_gather."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    params = list(model.parameters())
    n = sum(p.numel() for p in params)
    pad = n % 2
    rank = dist.get_rank()
    flat = torch.cat([p.detach().reshape(-1) for p in params] + [torch.zeros(pad)])
    size = flat.numel() // 2
    shard = nn.Parameter(flat[rank * size : (rank + 1) * size].clone())
    opt = torch.optim.Adam([shard], lr=1e-2)
    g = torch.Generator().manual_seed(10 + rank)
    for _ in range(2):
        for p in params:
            p.grad = None
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        grads = torch.cat([p.grad.reshape(-1) for p in params] + [torch.zeros(pad)])
        out = torch.empty(size)
        dist.reduce_scatter_tensor(out, grads)
        shard.grad = out / 2
        opt.step()
        whole = torch.empty(2 * size)
        dist.all_gather_into_tensor(whole, shard.detach())
        with torch.no_grad():
            at = 0
            for p in params:
                p.copy_(whole[at : at + p.numel()].view_as(p))
                at += p.numel()


TRUTH = Truth()
