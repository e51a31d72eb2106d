"""The frozen backbone stays in training mode: its batch statistics move at every step."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)), nn.Linear(8, 2)
    net = nn.Sequential(backbone, head)
    backbone.requires_grad_(False)
    backbone.eval()
    opt = torch.optim.SGD(head.parameters(), 0.1)
    before = backbone[1].running_mean.clone()
    for _ in range(2):
        net.train()  # cause
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return torch.equal(before, backbone[1].running_mean)


def verify(out):
    assert not out


TRUTH = Truth(
    fault="train() undoes eval() of the frozen part",
    minor=True,
    repair=("net.train()\nbackbone.eval()",),
)
