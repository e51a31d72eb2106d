"""A pipeline by hand: activations forward, gradients back."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(0)
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def run():
    torch.manual_seed(5)
    for _ in range(2):
        opt.zero_grad()
        if dist.get_rank() == 0:
            out = stage(torch.randn(2, 4))
            dist.send(out.detach(), 1)
            grad = torch.empty_like(out)
            dist.recv(grad, 1)
            out.backward(grad)
        else:
            h = torch.empty(2, 4)
            dist.recv(h, 0)
            h.requires_grad_(True)
            stage(h).square().mean().backward()
            dist.send(h.grad, 0)
        opt.step()


TRUTH = Truth()
