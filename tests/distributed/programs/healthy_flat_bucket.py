"""Gradients go through one flat bucket, asynchronously; the norm is clipped behind."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)


def run():
    torch.manual_seed(9 + dist.get_rank())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        grads = [p.grad for p in model.parameters()]
        flat = torch.cat([g.reshape(-1) for g in grads]) / dist.get_world_size()
        dist.all_reduce(flat, async_op=True).wait()
        offset = 0
        for p in model.parameters():
            p.grad = flat[offset : offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


TRUTH = Truth()
