"""FSDP1's shards are clipped by the norm of this rank's shards alone."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = FSDP(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), use_orig_params=True, device_id=torch.device("cpu")
    )
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        net(torch.randn(4, 4, generator=g)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.05)  # cause
        opt.step()
        opt.zero_grad()


TRUTH = Truth(fault="clipped by local norm", rule="AG601|AG602", names=("clip_grad_norm_",), where="any")
