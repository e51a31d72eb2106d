"""FSDP1, optimizer behind, clipping by its own method, no_sync for all but the last."""

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
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)


def run():
    import contextlib

    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        for micro in range(2):
            with net.no_sync() if micro == 0 else contextlib.nullcontext():
                (net(torch.randn(4, 4, generator=g)).pow(2).mean() / 2).backward()
        net.clip_grad_norm_(0.5)
        opt.step()
        opt.zero_grad()


TRUTH = Truth(values=True)
