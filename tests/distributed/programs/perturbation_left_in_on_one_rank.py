"""Each rank climbs by its own gradient before the backward that all reduce; rank 1 does not come back."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(31 + dist.get_rank())


@torch.no_grad()
def climb(parameters):
    center = [p.clone() for p in parameters]
    for p in parameters:
        p.add_(0.05 * p.grad / (p.grad.norm() + 1e-12))  # cause
        p.grad = None
    return center


@torch.no_grad()
def come_back(parameters, center):
    if dist.get_rank() == 0:  # also
        for p, old in zip(parameters, center):
            p.copy_(old)


def run():
    parameters = list(model.parameters())
    for _ in range(3):
        x, y = torch.randn(6, 5, generator=g), torch.randint(0, 2, (6,), generator=g)
        with model.no_sync():
            F.cross_entropy(model(x), y).backward()
        center = climb(parameters)
        F.cross_entropy(model(x), y).backward()  # also
        come_back(parameters, center)
        opt.step()
        opt.zero_grad()


TRUTH = Truth(
    fault="rank 1 keeps the weights that it moved by its own gradient",
    rule="AG205|AG601",
    names=("0.weight",),
    values=True,
    where="gather",
)
