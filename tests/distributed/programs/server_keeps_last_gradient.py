"""A parameter server receives the gradients of two workers, and steps with that of the last one."""

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
    for worker in range(1, dist.get_world_size()):
        for p in model.parameters():
            p.grad = torch.empty_like(p)  # also
            dist.recv(p.grad, worker)  # cause
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


TRUTH = Truth(
    fault="the gradient of the first worker is overwritten unread", rule="AG601|AG306", names=("recv",), where="any"
)
