"""A pipeline by hand whose tied embedding is reduced over its two stages."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global table, body, opt
    torch.manual_seed(0)
    table = nn.Embedding(10, 6)
    body = nn.Linear(6, 6)
    opt = torch.optim.SGD([*table.parameters(), *body.parameters()], lr=0.1)


def run():
    g = torch.Generator().manual_seed(4)
    for _ in range(3):
        ids = torch.randint(0, 10, (3, 5), generator=g)
        opt.zero_grad()
        if dist.get_rank() == 0:
            out = body(table(ids[:, :-1]))
            dist.send(out.detach(), 1)
            grad = torch.empty_like(out)
            dist.recv(grad, 1)
            out.backward(grad)
        else:
            h = torch.empty(3, 4, 6)
            dist.recv(h, 0)
            h.requires_grad_()
            logits = body(h).tanh() @ table.weight.t()
            F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
            dist.send(h.grad, 0)
        dist.all_reduce(table.weight.grad)
        opt.step()


TRUTH = Truth(values=True)
