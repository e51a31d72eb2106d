"""Both stages receive before they send."""

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
    rank = dist.get_rank()
    stage = nn.Linear(4, 4)
    out = stage(torch.randn(3, 4))
    got = torch.empty(3, 4)
    dist.recv(got, 1 - rank)  # cause
    dist.send(out.detach(), 1 - rank)  # also
    (out + got).pow(2).mean().backward()


TRUTH = Truth(
    fault="both wait",
    names=("recv",),
    rule="AG603",
    where="any",
    raises="imed out|Connection closed|onnection reset|Read error",
)
