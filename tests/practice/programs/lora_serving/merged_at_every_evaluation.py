"""LoRA: eval() merges B A into the base weight, train() does not take it out again, so each evaluation adds the adapter once more."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MergedLinear(nn.Linear):
    def __init__(self, inputs, outputs, rank=2):
        super().__init__(inputs, outputs)
        self.weight.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.B = nn.Parameter(torch.zeros(outputs, rank))
        self.merged = False

    def delta(self):
        return self.B @ self.A

    def train(self, mode=True):
        super().train(mode)
        if not mode and not self.merged:
            self.weight.data += self.delta().detach()
            self.merged = True
        elif mode and self.merged:
            self.merged = False  # cause
        return self

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        return y if self.merged else y + F.linear(x, self.delta())


class IntentModel(nn.Module):
    def __init__(self, dim=10, intents=4):
        super().__init__()
        self.inner = MergedLinear(dim, 16)
        self.outer = MergedLinear(16, intents)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(x), y).item()
    model.train()
    return loss


def run():
    torch.manual_seed(0)
    model = IntentModel()
    base = model.inner.weight.clone()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-2)
    x = torch.randn(40, 10)
    y = x[:, :4].argmax(1)
    curve = []
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        curve.append(evaluate(model, x, y))
    return base, model.inner.weight.clone(), curve, evaluate(model, x, y)


def verify(outcome):
    base, now, curve, again = outcome
    assert not torch.allclose(base, now, atol=1e-5)
    assert abs(curve[-1] - again) > 1e-4


TRUTH = Truth(
    fault="the flag is reset but the weight keeps the merged adapter: the frozen base drifts",
    names=("weight", "merged"),
    repair=("self.weight.data -= self.delta().detach()\nself.merged = False",),
)
