"""The output of a row-parallel layer is a partial sum, of which each rank reads its own summand."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel(output_layouts=Partial(), use_local_output=False)}
    parallelize_module(model, mesh, plan)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        x, y = torch.randn(6, 4, generator=g), torch.randn(6, 2, generator=g)
        opt.zero_grad()
        F.mse_loss(model(x).to_local(), y).backward()  # cause
        opt.step()


TRUTH = Truth(fault="a summand is taken for the sum", rule="AG601", where="any")
