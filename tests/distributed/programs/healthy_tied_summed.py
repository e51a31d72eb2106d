"""The embedding of the first stage is the head of the last; their gradients are summed."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global table, body, opt
    torch.manual_seed(0)
    table = nn.Embedding(10, 4)
    torch.manual_seed(dist.get_rank())
    body = nn.Linear(4, 4)
    opt = torch.optim.SGD([*table.parameters(), *body.parameters()], lr=0.1)


def run():
    rank = dist.get_rank()
    g = torch.Generator().manual_seed(1)
    for _ in range(2):
        ids = torch.randint(0, 10, (5,), generator=g)
        opt.zero_grad()
        if rank == 0:
            h = body(table(ids))
            dist.send(h.detach(), 1)
            grad = torch.empty_like(h)
            dist.recv(grad, 1)
            h.backward(grad)
        else:
            h = torch.empty(5, 4)
            dist.recv(h, 0)
            h.requires_grad_()
            F.cross_entropy(body(h) @ table.weight.t(), ids.roll(1)).backward()
            dist.send(h.grad, 0)
        dist.all_reduce(table.weight.grad)
        opt.step()


TRUTH = Truth(values=True)
