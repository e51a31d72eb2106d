"""Adam with its state sharded by ZeroRedundancyOptimizer."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer

from tests.distributed.truth import Truth


def build():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 1))


def data(step):
    g = torch.Generator().manual_seed(step + 1)
    x = torch.randn(12, 6, generator=g)
    return x, (x**2).sum(1, keepdim=True)


def setup():
    global model, opt
    model = build()
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    opt = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-2)


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(4):
        x, y = data(step)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[rank::world]), y[rank::world])
        loss.backward()
        opt.step()  # cause


TRUTH = Truth(
    rule="AG601",
    fault="nothing reduces gradients: each shard's owner steps with its own batch only",
    names=("0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"),
)
