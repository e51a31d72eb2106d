"""LoRA layers got a merge() for fast evaluation; the way back to training forgets to unmerge, and the adapter counts twice."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, inputs, outputs, rank=2):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5, requires_grad=False)
        self.A = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.B = nn.Parameter(torch.zeros(outputs, rank))

    @torch.no_grad()
    def merge(self):
        self.weight += self.B @ self.A

    @torch.no_grad()
    def unmerge(self):
        self.weight -= self.B @ self.A

    def forward(self, x, merged=False):
        y = F.linear(x, self.weight)
        return y if merged else y + F.linear(F.linear(x, self.A), self.B)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = LoRALinear(6, 6)
        self.merged = False

    def forward(self, x):
        return self.layer(x, self.merged)


def evaluate(model, x, y):
    model.eval()
    model.layer.merge()  # also
    model.merged = True
    with torch.no_grad():
        score = F.mse_loss(model(x), y)
    model.merged = False
    model.train()  # cause
    return float(score)


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD([model.layer.A, model.layer.B], lr=0.1)
    base = model.layer.weight.clone()
    x, y = torch.randn(16, 6), torch.randn(16, 6)
    for _ in range(3):
        model.train()
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        evaluate(model, x, y)
    return base, model.layer.weight


def verify(outcome):
    base, weight = outcome
    assert not torch.allclose(base, weight, atol=1e-5)


TRUTH = Truth(
    fault="the frozen base weight keeps the merged adapter after each evaluation, to which the adapter is added again",
    names=("weight",),
    repair=("model.layer.unmerge()\nmodel.train()",),
)
