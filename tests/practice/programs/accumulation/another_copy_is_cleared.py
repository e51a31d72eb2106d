"""The gradients of the averaged copy are cleared, those of the model add up for ever."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 2))
    average = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    x, y = torch.randn(16, 5), torch.randint(2, (16,))
    norms = []
    for _ in range(4):
        average.zero_grad()  # cause
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norms.append(model[0].weight.grad.norm().item())
        opt.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.01)
    return norms


def verify(norms):
    assert norms[-1] > 2 * norms[0]


TRUTH = Truth(fault="the model's gradients are never cleared", names=("zero_grad",), repair=("model.zero_grad()",))
