"""A pipeline by hand: both stages take the gradients of the micro-batches last first."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def run():
    torch.manual_seed(5)
    for _ in range(2):
        opt.zero_grad()
        if dist.get_rank() == 0:
            outs = []
            for _ in range(3):
                outs.append(stage(torch.randn(2, 4)))
                dist.isend(outs[-1].detach(), 1).wait()
            for out in reversed(outs):
                grad = torch.empty_like(out)
                dist.irecv(grad, 1).wait()
                out.backward(grad)
        else:
            ins, losses = [], []
            for _ in range(3):
                h = torch.empty(2, 4)
                dist.recv(h, 0)
                ins.append(h.requires_grad_())
                losses.append(stage(h).square().mean() / 3)
            while ins:
                losses.pop().backward()
                dist.send(ins.pop().grad, 0)
        opt.step()


TRUTH = Truth()
