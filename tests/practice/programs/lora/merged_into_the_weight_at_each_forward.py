"""LoRA's forward writes base + B @ A into the weight's .data, and the factors get no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoraLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.frozen = self.base.weight.detach().clone()
        self.a, self.b = nn.Parameter(torch.randn(2, 4) * 0.1), nn.Parameter(torch.randn(4, 2) * 0.1)

    def forward(self, x):
        self.base.weight.data = self.frozen + self.b @ self.a  # cause
        return self.base(x)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(LoraLinear(), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    for _ in range(2):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model[0].a.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the factors are cut off by .data",
    names=(".data",),
    repair=("return F.linear(x, self.frozen + self.b @ self.a, self.base.bias)",),
)
