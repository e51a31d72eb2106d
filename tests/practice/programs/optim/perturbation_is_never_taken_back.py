"""SAM climbs, takes the gradient there, and steps from there: the climb is never undone."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.0)
    before = net.weight.detach().clone()
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(3):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        climbs = []
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            for p in net.parameters():
                climb = 0.05 * p.grad / norm
                p.add_(climb)  # cause
                climbs.append(climb)
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()  # also
    return (net.weight - before).abs().max().item()


def verify(out):
    assert out > 0.01


TRUTH = Truth(
    fault="the weights keep the perturbation",
    minor=True,
    repair=("climbs.append(climb)",),
)
