"""A pipeline receives into one leaf whose gradient is never cleared: later micro-batches send back sums."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global stage, opt, arriving
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)
    arriving = torch.zeros(2, 4, requires_grad=True)


def run():
    torch.manual_seed(5)
    for _ in range(3):
        opt.zero_grad()
        for _ in range(2):
            if dist.get_rank() == 0:
                out = stage(torch.randn(2, 4))
                dist.send(out.detach(), 1)
                grad = torch.empty_like(out)
                dist.recv(grad, 1)
                out.backward(grad)
            else:
                with torch.no_grad():
                    dist.recv(arriving, 0)
                stage(arriving).square().mean().backward()  # also
                dist.send(arriving.grad, 0)  # cause
        opt.step()


TRUTH = Truth(fault="gradients of the input add up", rule="AG305|AG601", where="any")
