"""A stage receives activations that do not require grad, and sends zeros back where their gradient would be."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def receive(shape, peer):
    h = torch.empty(shape)
    dist.recv(h, peer)
    return h  # cause


def run():
    torch.manual_seed(5)
    for _ in range(3):
        opt.zero_grad()
        for _ in range(2):
            if dist.get_rank() == 0:
                out = stage(torch.randn(2, 4))
                dist.send(out.detach(), 1)
                out.backward(receive((2, 4), 1))
            else:
                h = receive((2, 4), 0)  # also
                stage(h).square().mean().backward()
                dist.send(torch.zeros_like(h) if h.grad is None else h.grad, 0)  # also
        opt.step()
    return stage[0].weight.grad.abs().sum().item()


TRUTH = Truth(fault="the first stage gets zeros for gradients", rule="AG603", names=("rank 1",), where="gather")
