"""Quantisation: the straight-through estimator lacks its detach, weights get no gradient at all."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def round_ste(x):
    """Round forwards, identity backwards."""
    return x + (x.round() - x)  # cause


class FakeQuantLinear(nn.Linear):
    def __init__(self, fin, fout, bits=4):
        super().__init__(fin, fout)
        self.levels = 2 ** (bits - 1) - 1

    def quantised(self):
        scale = self.weight.detach().abs().max() / self.levels
        return round_ste(self.weight / scale) * scale

    def forward(self, x):
        return F.linear(x, self.quantised(), self.bias)


class QATNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = FakeQuantLinear(5, 16)
        self.second = FakeQuantLinear(16, 2)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


def data(n):
    for _ in range(n):
        x = torch.randn(32, 5)
        yield x, (x[:, 0] * x[:, 1] > 0).long()


def run():
    torch.manual_seed(0)
    model = QATNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    for x, y in data(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return {k: (v - before[k]).abs().max().item() for k, v in model.state_dict().items()}


def verify(outcome):
    assert outcome["first.weight"] < 1e-3 and outcome["second.weight"] < 1e-3
    assert outcome["first.bias"] > 1e-2


TRUTH = Truth(
    fault="x + (round(x) - x) without detach has gradient 1 + 0 - 1 = 0",
    names=("weight",),
    repair=("return x + (x.round() - x).detach()",),
)
