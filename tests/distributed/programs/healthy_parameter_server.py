"""Rank 0 holds the weights; workers send gradients and receive weights."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1) if dist.get_rank() == 0 else None


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        for p in model.parameters():
            dist.broadcast(p.data, 0)
        model.zero_grad()
        if dist.get_rank():
            model(torch.randn(3, 4, generator=g)).square().mean().backward()
            for p in model.parameters():
                dist.send(p.grad, 0)
        else:
            for p in model.parameters():
                p.grad = torch.empty_like(p)
                dist.recv(p.grad, 1)
            opt.step()


TRUTH = Truth()
