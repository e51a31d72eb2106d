"""Decoupled weight decay by `.data.mul_()` stands between forward and backward."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run(decay=0.05):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 3))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    errors = []
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(3, (16,))
        loss = nn.functional.cross_entropy(net(x), y)
        right = torch.autograd.grad(loss, net[0].weight, retain_graph=True)[0]
        for p in net.parameters():
            p.data.mul_(1 - decay)  # cause
        opt.zero_grad()
        loss.backward()
        errors.append((net[0].weight.grad - right).abs().max().item())
        opt.step()
    return errors


def verify(errors):
    assert min(errors) > 0


TRUTH = Truth(fault="backward uses weights that have changed since the forward", names=("mul_",), repair=("pass",))
