"""What is being sent is overwritten before it has gone."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global stage, opt
    torch.manual_seed(dist.get_rank())
    stage = nn.Sequential(nn.Linear(4, 4), nn.Tanh()) if dist.get_rank() == 0 else nn.Linear(4, 2)
    opt = torch.optim.SGD(stage.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(3)
    for _ in range(3):
        x, y = torch.randn(5, 4, generator=g), torch.randint(0, 2, (5,), generator=g)
        opt.zero_grad()
        if dist.get_rank() == 0:
            out = stage(x)
            sent = out.detach().clone()
            work = dist.isend(sent, 1)
            sent.zero_()  # cause
            work.wait()
            grad = torch.empty(5, 4)
            dist.recv(grad, 1)
            out.backward(grad)
        else:
            x = torch.zeros(5, 4)
            dist.recv(x, 0)
            x.requires_grad_()
            F.cross_entropy(stage(x), y).backward()
            dist.send(x.grad, 0)
        opt.step()


TRUTH = Truth(fault="overwritten while it is sent", rule="AG601", names=("wait()",), where="own")
