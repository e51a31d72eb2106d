"""Pure bfloat16 weights: the update is below half a unit in the last place and rounds away."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(8, 8, bias=False).to(torch.bfloat16)  # cause
    with torch.no_grad():
        net.weight.fill_(1.0)
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(4, 8, dtype=net.weight.dtype)).mean().backward()
        opt.step()
    return bool((net.weight == 1).all())


def verify(out):
    assert out


TRUTH = Truth(
    fault="the step is smaller than the weights' dtype resolves",
    values=True,
    names=("bfloat16",),
    repair=("net = nn.Linear(8, 8, bias=False)",),
)
