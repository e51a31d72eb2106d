"""A hook that keeps pruned weights at zero is registered on a weight that is replaced afterwards."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    mask = (net[0].weight.abs() > 0.2).float()
    net[0].weight.register_hook(lambda g: g * mask)  # also
    net[0].weight = nn.Parameter(net[0].weight.detach() * mask)  # cause
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        opt.step()
    return net[0].weight.detach(), mask


def verify(out):
    weight, mask = out
    assert (weight[mask == 0] != 0).any()


TRUTH = Truth(
    fault="the hook is on a parameter that the model no longer has",
    names=("hook",),
    repair=("net[0].weight.data.mul_(mask)",),
)
