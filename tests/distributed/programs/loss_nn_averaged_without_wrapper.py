"""The loss is averaged by a collective that has a gradient, and nothing reduces the gradients of the weights."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
from torch import nn
from torch.nn import functional as F

from tests.distributed.truth import Truth


def setup():
    global net, opt
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        x = torch.randn(6, 4, generator=g)
        opt.zero_grad()
        loss = F.mse_loss(net(x), x.sum(1, keepdim=True))
        loss = differentiable.all_reduce(loss) / dist.get_world_size()  # cause
        loss.backward()  # also
        opt.step()


TRUTH = Truth(fault="the loss is reduced, the gradients are not", rule="AG601", names=("0.weight",), where="any")
