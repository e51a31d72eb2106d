"""Gradients are unscaled, which looks for infinities, before they are averaged: one rank steps with what is infinite."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt, scaler
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for step in range(3):
        x = torch.randn(8, 4, generator=g)
        if step == 1 and dist.get_rank() == 1:
            x[0] = float("inf")
        opt.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.unscale_(opt)  # cause
        for p in model.parameters():
            dist.all_reduce(p.grad)  # also
            p.grad /= dist.get_world_size()
        scaler.step(opt)  # also
        scaler.update()  # also


TRUTH = Truth(fault="infinities are looked for on each rank", rule="AG601|AG602|AG603|AG305", where="any")
