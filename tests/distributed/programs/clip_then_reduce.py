"""Data parallel by hand with one coalesced all_reduce and clipping."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from tests.distributed.truth import Truth

WORLD = 3


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 1))


def batch(step):
    g = torch.Generator().manual_seed(step)
    x = torch.randn(12, 5, generator=g)
    return x, 4 * x[:, :1] + torch.arange(12.0)[:, None] / 3


def reduce_(grads):
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for g, f in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(f)


def setup():
    global net, opt, params
    net = build()
    params = list(net.parameters())
    opt = torch.optim.SGD(params, lr=0.2)


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for step in range(3):
        x, y = batch(step)
        opt.zero_grad()
        nn.functional.mse_loss(net(x.chunk(w)[r]), y.chunk(w)[r]).backward()
        nn.utils.clip_grad_norm_(params, 1.0)  # cause
        reduce_([p.grad for p in params])  # also
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="clipping each rank's own gradient before the mean is taken",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
    values=True,
)
