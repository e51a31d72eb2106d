"""Ranks train alone; averages of their weights are evaluated, saved and compared, and go back to nobody."""

import io

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def averaged(model):
    state = {name: p.detach().clone() for name, p in model.named_parameters()}
    for value in state.values():
        dist.all_reduce(value)
        value /= dist.get_world_size()
    return state


def setup():
    global model, shadow, opt
    model, shadow = build(), build().requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()
        opt.step()
        if step % 3 == 0:
            shadow.load_state_dict(averaged(model))
            shadow(torch.ones(2, 4)).mean().item()
        elif step % 3 == 1:
            torch.save(averaged(model), io.BytesIO())
        else:
            max((a - b).abs().max().item() for a, b in zip(averaged(model).values(), model.parameters(), strict=True))


TRUTH = Truth()
