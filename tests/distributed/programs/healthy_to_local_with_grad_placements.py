"""Each rank uses its own columns, and the gradient is a partial sum."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, distribute_tensor


def setup():
    global weight, opt
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (2,))
    weight = nn.Parameter(distribute_tensor(torch.randn(4, 6), mesh, [Replicate()]))
    opt = torch.optim.SGD([weight], lr=0.1)


def run():
    g = torch.Generator().manual_seed(5)
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        whole = weight.to_local(grad_placements=[Partial()])
        mine = whole.chunk(2, dim=1)[dist.get_rank()]
        (x @ mine).square().mean().backward()
        opt.step()


TRUTH = Truth(values=True)
