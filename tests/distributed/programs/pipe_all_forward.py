"""Two-stage pipeline by send and recv, all forwards before all backwards."""

import torch
import torch.distributed as dist
import torch.nn as nn

from tests.distributed.truth import Truth

M = 4


def stages():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh()), nn.Linear(8, 1)


def batches():
    g = torch.Generator().manual_seed(6)
    return [(torch.randn(3, 5, generator=g), torch.randn(3, 1, generator=g)) for _ in range(M)]


def first_stage(stage):
    outs = []
    for x, _ in batches():
        y = stage(x)
        dist.send(y.detach(), dst=1)
        outs.append(y)
    while outs:
        y = outs.pop(0)  # cause
        grad = torch.empty_like(y)
        dist.recv(grad, src=1)  # also
        y.backward(grad)  # also


def last_stage(stage):
    held = []
    for _, y in batches():
        h = torch.empty(3, 8)
        dist.recv(h, src=0)
        h.requires_grad_()
        held.append((h, nn.functional.mse_loss(stage(h), y) / M))
    for h, loss in reversed(held):
        loss.backward()
        dist.send(h.grad, dst=0)


def setup():
    global stage
    stage = stages()[dist.get_rank()]


def run():
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        if dist.get_rank() == 0:
            first_stage(stage)
        else:
            last_stage(stage)
        opt.step()


TRUTH = Truth(
    rule="AG603",
    fault="gradients come last micro-batch first but are given to the first one first",
    names=("micro-batches",),
    where="gather",
    values=True,
)
