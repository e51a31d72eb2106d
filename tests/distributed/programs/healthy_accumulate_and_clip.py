"""DDP accumulation with a short last window and clipping."""

import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

ACCUM, N = 3, 8


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))


def batch(i):
    g = torch.Generator().manual_seed(i + 1)
    x = torch.randn(8, 6, generator=g)
    return x, 5 * x.sum(1, keepdim=True)


def windows():
    return [range(a, min(a + ACCUM, N)) for a in range(0, N, ACCUM)]


def setup():
    global net, model, opt
    net = build()
    model = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for window in windows():
        with contextlib.ExitStack() as stack:
            if len(window) > 1:
                stack.enter_context(model.no_sync())
            for i in window[:-1]:
                x, y = batch(i)
                (nn.functional.mse_loss(model(x[r::w]), y[r::w]) / len(window)).backward()
        x, y = batch(window[-1])
        (nn.functional.mse_loss(model(x[r::w]), y[r::w]) / len(window)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()


TRUTH = Truth()
