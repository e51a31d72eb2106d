"""ZeRO-2 by hand: each rank gets the sum of its own part of the flat gradient, and its optimizer steps all of it."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, flat, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def reduce_own_part(params):
    rank, world = dist.get_rank(), dist.get_world_size()
    flat = torch.cat([p.grad.flatten() for p in params])
    pad = -len(flat) % world
    flat = torch.cat([flat, flat.new_zeros(pad)])
    own = torch.empty(len(flat) // world)
    dist.reduce_scatter_tensor(own, flat)  # also
    flat.chunk(world)[rank].copy_(own / world)
    at = 0
    for p in params:
        p.grad.copy_(flat[at : at + p.numel()].view_as(p))
        at += p.numel()


def run():
    g = torch.Generator().manual_seed(10 + dist.get_rank())
    params = list(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4, generator=g)).pow(2).mean().backward()
        reduce_own_part(params)
        opt.step()  # cause
    return [round(p.sum().item(), 4) for p in params]


TRUTH = Truth(
    fault="the other parts are stepped with gradients of this rank", rule="AG601", names=("weight",), where="any"
)
