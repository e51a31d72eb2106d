"""GPipe by hand with an embedding on the first stage tied to the projection on the last: the two copies' gradients are summed."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

MICRO, VOCAB, DIM = 2, 9, 6


def setup():
    global shared, body, opt, rank
    rank = dist.get_rank()
    torch.manual_seed(0)
    shared = nn.Parameter(torch.randn(VOCAB, DIM) * 0.3)  # the same values on both stages
    torch.manual_seed(1 + rank)
    body = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh())
    opt = torch.optim.Adam([shared, *body.parameters()], lr=1e-2)


def first(ids):
    kept = []
    for part in ids.chunk(MICRO):
        act = body(F.embedding(part, shared))
        dist.send(act.detach().contiguous(), dst=1)
        kept.append(act)
    for act in kept:
        grad = torch.empty_like(act)
        dist.recv(grad, src=1)
        act.backward(grad)
    return None


def last(ids):
    total, inputs = 0.0, []
    for part in ids.chunk(MICRO):
        act = torch.empty(*part.shape, DIM)
        dist.recv(act, src=0)
        act.requires_grad_()
        loss = F.cross_entropy((body(act) @ shared.T).flatten(0, 1), part.roll(-1, 1).flatten()) / MICRO
        loss.backward()
        total += loss.item()
        inputs.append(act)
    for act in inputs:
        dist.send(act.grad, dst=0)
    return round(total, 5)


def run():
    g, losses = torch.Generator().manual_seed(3), []
    for _ in range(3):
        ids = torch.randint(0, VOCAB, (4, 5), generator=g)
        losses.append(first(ids) if rank == 0 else last(ids))
        dist.all_reduce(shared.grad)  # both uses of the one weight: a sum, not a mean
        opt.step()
        opt.zero_grad()
    return losses, round(shared.norm().item(), 5)


TRUTH = Truth()
