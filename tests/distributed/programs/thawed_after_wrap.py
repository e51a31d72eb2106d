"""A backbone is thawed in the course of the training, behind the wrapping."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.backbone(x).relu())


def setup():
    global model, opt
    torch.manual_seed(0)
    net = Net()
    net.backbone.requires_grad_(False)
    model = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for epoch in range(3):
        if epoch == 1:
            model.module.backbone.requires_grad_(True)  # cause
        opt.zero_grad()
        model(torch.randn(6, 4, generator=g)).square().mean().backward()  # also
        opt.step()


TRUTH = Truth(fault="thawed behind the wrapping", names=("backbone.weight",), rule="AG605")
