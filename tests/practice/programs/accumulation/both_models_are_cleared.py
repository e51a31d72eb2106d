"""The module's own zero_grad() clears the model and its averaged copy; no optimizer's is called."""

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
    for step in range(6):
        if step % 2 == 0:
            model.zero_grad()
            average.zero_grad()
        (nn.functional.cross_entropy(model(x), y) / 2).backward()
        if step % 2 == 1:
            opt.step()
            with torch.no_grad():
                for a, p in zip(average.parameters(), model.parameters()):
                    a.lerp_(p, 0.01)
    return model


TRUTH = Truth()
