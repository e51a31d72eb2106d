"""Each rank has an expert of its own; tokens travel by all_to_all, shared layers are reduced by DDP."""

import torch.distributed.nn.functional as df
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        parts = list(x.chunk(2))
        got = [torch.empty_like(p) for p in parts]
        ops = []
        for r in range(2):
            if r == dist.get_rank():
                got[r].copy_(parts[r])
            else:
                ops += [dist.P2POp(dist.isend, parts[r].contiguous(), r), dist.P2POp(dist.irecv, got[r], r)]
        for w in dist.batch_isend_irecv(ops):
            w.wait()
        return torch.cat(got)

    @staticmethod
    def backward(ctx, g):
        return Exchange.apply(g.contiguous())


def run():
    torch.manual_seed(0)
    trunk = DDP(nn.Linear(4, 8))
    head = DDP(nn.Linear(8, 1))
    torch.manual_seed(1 + dist.get_rank())
    expert = nn.Linear(8, 8)
    opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=1e-2)
    own = torch.optim.SGD(expert.parameters(), lr=1e-2)
    for _ in range(2):
        opt.zero_grad()
        own.zero_grad()
        h = trunk(torch.randn(8, 4))
        h = Exchange.apply(torch.relu(expert(Exchange.apply(h))))
        head(h).pow(2).mean().backward()
        opt.step()
        own.step()


TRUTH = Truth()
