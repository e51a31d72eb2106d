"""Weight averaging next to a compiled training step."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Average:
    def __init__(self, module, decay=0.9):
        self.decay = decay
        self.shadow = {n: p.detach() for n, p in module.named_parameters()}  # cause

    @torch.no_grad()
    def update(self, module):
        for n, p in module.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def run():
    model = build()
    average = Average(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.2)

    @torch.compile(backend=BACKEND)
    def loss_fn(x, y):
        return nn.functional.cross_entropy(model(x), y)

    torch.manual_seed(1)
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = loss_fn(x, (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        average.update(model)
    return model, average


def right(out):
    model, average = out
    assert any(not torch.allclose(average.shadow[n], p) for n, p in model.named_parameters()), "shadow is the model"


TRUTH = Truth(
    fault="detach shares memory: the average is the model itself",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    repair=("self.shadow = {n: p.detach().clone() for n, p in module.named_parameters()}",),
)
