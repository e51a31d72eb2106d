"""Each rank uses its own columns of what to_local() returns, and the gradient is told to be the same everywhere."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, distribute_tensor


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
        whole = weight.to_local()  # cause
        mine = whole.chunk(2, dim=1)[dist.get_rank()]
        (x @ mine).square().mean().backward()
        opt.step()


TRUTH = Truth(fault="gradients in parts", rule="AG601", names=("Partial()",), where="gather", values=True)
