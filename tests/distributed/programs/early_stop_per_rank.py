"""Each rank stops when its own validation loss no longer falls."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)


def validation_loss(epoch):
    with torch.no_grad():
        x = torch.ones(5, 4)
        return F.mse_loss(model.module(x), x[:, :1]) + (10.0 * epoch if dist.get_rank() else -10.0 * epoch)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    best = torch.tensor(float("inf"))
    for epoch in range(4):
        for _ in range(2):
            x = torch.randn(6, 4, generator=g)
            opt.zero_grad()
            F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()  # cause
            opt.step()
        now = validation_loss(epoch)
        if now > best:
            break
        best = now


TRUTH = Truth(fault="one rank stops early", rule="AG603", where="gather", raises="imed out|timeout caused")
