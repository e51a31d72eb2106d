"""Accumulation: the backward stands under the `if` of the step, so three of four micro-batches are lost."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
    first = copy.deepcopy(net)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    batches = [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(8)]
    every, grads = 4, []
    opt.zero_grad()
    for i, (x, y) in enumerate(batches):
        loss = nn.functional.cross_entropy(net(x), y) / every
        if (i + 1) % every == 0:  # cause
            loss.backward()  # cause
            grads.append(net[0].weight.grad.clone())
            opt.step()
            opt.zero_grad()
    return first, batches[:every], grads[0]


def verify(out):
    net, batches, grad = out
    sum(nn.functional.cross_entropy(net(x), y) / 4 for x, y in batches).backward()
    assert not torch.allclose(net[0].weight.grad, grad)


TRUTH = Truth(
    fault="of each four micro-batches only the last one reaches the gradients",
    names=("loss",),
    repair=("loss.backward()\nif (i + 1) % every == 0:", "pass"),
)
