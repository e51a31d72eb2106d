"""Replicated DTensor parameters, each rank scores its own slice of the batch."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, distribute_module
import torch.nn.functional as F

from tests.distributed.truth import Truth


class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d, bias=False)
        self.scale = nn.Parameter(torch.ones(d))

    def forward(self, x):
        w = self.proj.weight.to_local(grad_placements=[Partial()])
        s = self.scale.to_local()  # cause
        return (F.linear(x, w) * s).tanh().sum(-1)


def build():
    torch.manual_seed(0)
    return Scorer(6)


def batch(step):
    g = torch.Generator().manual_seed(step + 70)
    return torch.randn(8, 6, generator=g), torch.randn(8, generator=g)


def setup():
    global model, opt
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = distribute_module(build(), mesh)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        pred = model(x.chunk(world)[rank])
        loss = F.mse_loss(pred, y.chunk(world)[rank]) / world
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG601",
    values=True,
    fault="to_local takes the gradient as replicated although it is a partial sum",
    names=("to_local",),
    where="gather",
)
