"""A forward hook stores outputs for a plot that is drawn at the end: every step's graph stays alive."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    kept = []
    net[0].register_forward_hook(lambda m, i, o: kept.append(o))  # cause
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(4):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward(retain_graph=True)
        opt.step()
    return kept[0].requires_grad


def verify(out):
    assert out


TRUTH = Truth(
    fault="the hook's list keeps the graphs of all steps",
    names=("kept",),
    repair=("net[0].register_forward_hook(lambda m, i, o: kept.append(o.detach()))",),
)
