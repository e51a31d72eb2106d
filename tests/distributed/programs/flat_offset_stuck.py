"""Gradients are reduced in one flat buffer, and all of them get its first part back."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def average_gradients(params):
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for p in params:
        p.grad.copy_(flat[at : at + p.numel()].view_as(p))  # cause
    at += p.numel()  # also


def run():
    for _ in range(3):
        x = torch.randn(8, 4, generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        average_gradients(list(model.parameters()))
        opt.step()
    return [round(p.norm().item(), 4) for p in model.parameters()]


TRUTH = Truth(
    fault="each gradient is overwritten with the first part of the flat buffer", rule="AG306", names=("model.0.bias",)
)
