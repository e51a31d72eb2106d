"""Two pipeline stages by hand: the second stage receives every micro-batch into one persistent leaf."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

MICRO, WIDTH = 3, 8


def setup():
    global stage, opt, rank
    rank = dist.get_rank()
    torch.manual_seed(rank)
    stage = nn.Sequential(nn.Linear(5, WIDTH), nn.GELU()) if rank == 0 else nn.Sequential(nn.Linear(WIDTH, 4))
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def first_stage(xs):
    sent = []
    for x in xs:
        act = stage(x)
        dist.send(act.detach(), dst=1)
        sent.append(act)
    for act in sent:
        grad = torch.empty_like(act)
        dist.recv(grad, src=1)
        act.backward(grad)


def last_stage(ys):
    inbox = torch.zeros(len(ys[0]), WIDTH, requires_grad=True)  # also
    back = []
    for y in ys:
        dist.recv(inbox.data, src=0)
        loss = F.cross_entropy(stage(inbox), y) / MICRO
        loss.backward()  # cause
        back.append(inbox.grad.clone())
    for grad in back:
        dist.send(grad, dst=0)  # also


def run():
    g = torch.Generator().manual_seed(3)
    norms = []
    for _ in range(3):
        x, y = torch.randn(6, 5, generator=g), torch.randint(0, 4, (6,), generator=g)
        first_stage(x.chunk(MICRO)) if rank == 0 else last_stage(y.chunk(MICRO))
        norms.append(round(stage[0].weight.grad.norm().item(), 4))
        opt.step()
        opt.zero_grad()
    return norms


TRUTH = Truth(
    fault="gradient of the receive buffer accumulates over the micro-batches before it is sent back",
    rule="AG601",
    names=("inbox",),
    where="any",
)
