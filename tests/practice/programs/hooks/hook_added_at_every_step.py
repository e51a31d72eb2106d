"""A hook that scales a gradient is registered in the loop, so that scales multiply."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    backbone, head = nn.Linear(6, 16), nn.Linear(16, 2)
    opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], 0.1)
    x, y = torch.randn(16, 6), torch.randint(2, (16,))
    norms = []
    for _ in range(5):
        for p in backbone.parameters():
            p.register_hook(lambda g: 0.1 * g)  # cause
        loss = nn.functional.cross_entropy(head(torch.relu(backbone(x))), y)
        opt.zero_grad()
        loss.backward()
        norms.append(backbone.weight.grad.norm().item())
        opt.step()
    return norms


def verify(norms):
    assert norms[-1] < 1e-3 * norms[0]


TRUTH = Truth(
    fault="each step adds another hook, and the gradient vanishes",
    names=("backbone",),
    repair=("if not p._backward_hooks:\n    p.register_hook(lambda g: 0.1 * g)",),
)
