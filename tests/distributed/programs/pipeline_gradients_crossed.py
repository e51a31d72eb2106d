"""The last stage sends the gradients of its micro-batches last first; the first stage takes them first first."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def first_stage(micro_batches):
    outs = []
    for x in micro_batches:
        outs.append(stage(x))
        dist.send(outs[-1].detach(), 1)
    for out in outs:
        grad = torch.empty_like(out)
        dist.recv(grad, 1)  # cause
        out.backward(grad)  # also


def last_stage(count):
    ins = []
    for _ in range(count):
        h = torch.empty(2, 4)
        dist.recv(h, 0)
        ins.append(h.requires_grad_())
    losses = [stage(h).square().mean() for h in ins]
    for h, loss in zip(reversed(ins), reversed(losses), strict=True):
        loss.backward()
        dist.send(h.grad, 0)  # also


def run():
    torch.manual_seed(5)
    for _ in range(2):
        opt.zero_grad()
        if dist.get_rank() == 0:
            first_stage([torch.randn(2, 4) for _ in range(3)])
        else:
            last_stage(3)
        opt.step()


TRUTH = Truth(fault="gradients of other micro-batches", rule="AG601|AG603|AG305", where="gather")
