"""Gradient accumulation under DDP with no_sync for all but one micro-batch."""

import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

ACCUM = 4
STEPS = 3


def setup():
    global model, opt, batches
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    g = torch.Generator().manual_seed(100 + dist.get_rank())
    batches = [(torch.randn(4, 6, generator=g), torch.randn(4, 1, generator=g)) for _ in range(ACCUM * STEPS)]


def run():
    for i, (x, y) in enumerate(batches):
        boundary = (i + 1) % ACCUM == 0
        sync_now = i % ACCUM == 0  # cause
        ctx = contextlib.nullcontext() if sync_now else model.no_sync()  # also
        with ctx:  # also
            loss = nn.functional.mse_loss(model(x), y) / ACCUM
            loss.backward()
        if boundary:
            opt.step()
            opt.zero_grad()


TRUTH = Truth(
    rule="AG601",
    fault="only the first micro-batch of each window is reduced; the rest stays local",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="own",
)
