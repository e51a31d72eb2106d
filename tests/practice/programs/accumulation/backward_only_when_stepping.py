"""Accumulation: the backward stands under the `if` of the step, so three of four micro-batches are lost."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    every, norms = 4, []
    opt.zero_grad()
    for i in range(8):
        x, y = torch.randn(4, 8), torch.randint(3, (4,))
        loss = nn.functional.cross_entropy(net(x), y) / every
        if (i + 1) % every == 0:  # cause
            loss.backward()  # cause
            norms.append(net[0].weight.grad.norm().item())
            opt.step()
            opt.zero_grad()
    return net, norms


def verify(out):
    _, norms = out
    assert max(norms) < 0.5  # a mean of four, not a quarter of one


TRUTH = Truth(
    fault="of each four micro-batches only the last one reaches the gradients",
    names=("loss",),
    repair=("loss.backward()\nif (i + 1) % every == 0:", "pass"),
)
