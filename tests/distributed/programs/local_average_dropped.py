"""Local SGD averages copies of the weights every second step, and does not write them back."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def averaged(model):
    state = {name: p.detach().clone() for name, p in model.named_parameters()}
    for value in state.values():
        dist.all_reduce(value)  # cause
        value /= dist.get_world_size()
    return state


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(4):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if step % 2:
            averaged(model)  # also


TRUTH = Truth(fault="averages are dropped", rule="AG601|AG205", names=("0.weight",), where="any")
