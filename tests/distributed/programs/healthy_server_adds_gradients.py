"""A parameter server adds up the gradients of two workers."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth

WORLD = 3


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1) if dist.get_rank() == 0 else None
    g = torch.Generator().manual_seed(dist.get_rank())


def serve():
    opt.zero_grad()
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    for worker in range(1, dist.get_world_size()):
        for p in model.parameters():
            got = torch.empty_like(p)
            dist.recv(got, worker)
            p.grad += got / (dist.get_world_size() - 1)
    opt.step()


def work():
    model.zero_grad()
    model(torch.randn(5, 4, generator=g)).square().mean().backward()
    for p in model.parameters():
        dist.send(p.grad, 0)


def run():
    for _ in range(3):
        for p in model.parameters():
            dist.broadcast(p.data, 0)
        work() if dist.get_rank() else serve()
    return round(model.weight.norm().item(), 5)


TRUTH = Truth()
