"""A GradScaler on each rank under a wrapper: what is infinite on one rank is infinite on all, and all leave out the step."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, scaler
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        loss = model(x).square().mean()
        if step == 1 and dist.get_rank() == 1:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()


TRUTH = Truth()
