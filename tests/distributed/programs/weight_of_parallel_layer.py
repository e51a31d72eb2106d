"""The weight of a parallel layer is used by itself: it is a DTensor, and the batch is none."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(2):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        hidden = F.linear(x, model[0].weight, model[0].bias)  # cause
        model[2](model[1](hidden)).square().mean().backward()
        opt.step()


TRUTH = Truth(
    fault="a DTensor meets a plain tensor",
    rule="AG415",
    names=("0.weight",),
    raises="mixed torch.Tensor and DTensor",
)
