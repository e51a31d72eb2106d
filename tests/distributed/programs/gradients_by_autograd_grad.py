"""Sharpness-aware training under DDP; gradients are taken with torch.autograd.grad and put into .grad."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

RHO = 0.05


def setup():
    global model, opt, params, g
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3)))
    params = list(model.parameters())
    opt = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    g = torch.Generator().manual_seed(dist.get_rank())


def sam_step(x, y):
    first = torch.autograd.grad(F.cross_entropy(model(x), y), params)
    norm = torch.stack([d.norm() for d in first]).norm()
    with torch.no_grad():
        for p, d in zip(params, first):
            p.add_(d, alpha=RHO / norm)
    second = torch.autograd.grad(F.cross_entropy(model(x), y), params)  # cause
    with torch.no_grad():
        for p, d in zip(params, first):
            p.sub_(d, alpha=RHO / norm)
    for p, d in zip(params, second):
        p.grad = d  # also
    opt.step()


def run():
    norms = []
    for _ in range(3):
        sam_step(torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g))
        norms.append(round(params[0].norm().item(), 5))
    return norms


TRUTH = Truth(
    fault="torch.autograd.grad bypasses DDP's hooks: the gradients that are stepped with are local, replicas drift",
    rule="AG601",
    names=("grad",),
    where="own",
)
