"""A group is given `learning_rate`, which AdamW does not know: it learns at the default rate."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(
        [
            {"params": net[0].parameters(), "lr": 1e-5},
            {"params": net[2].parameters(), "learning_rate": 1e-2},  # cause
        ],
        lr=1e-5,
    )
    before = net[2].weight.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return (net[2].weight - before).abs().max().item()


def verify(out):
    assert out < 1e-3


TRUTH = Truth(
    fault="the group's own rate is not used",
    names=("learning_rate",),
    minor=True,
    repair=('{"params": net[2].parameters(), "lr": 1e-2},',),
)
