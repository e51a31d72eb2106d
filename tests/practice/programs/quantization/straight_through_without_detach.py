"""Quantization-aware training: `x + (q - x)` lacks the detach of the straight-through trick, its gradient is exactly zero."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FakeQuantize(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.levels = 2 ** (bits - 1) - 1

    def forward(self, w):
        scale = w.detach().abs().max() / self.levels
        q = torch.round(w / scale).clamp(-self.levels, self.levels) * scale
        return w + (q - w)  # cause


class QuantLinear(nn.Linear):
    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.quantize = FakeQuantize(bits)

    def forward(self, x):
        return F.linear(x, self.quantize(self.weight), self.bias)


class WakeWordNet(nn.Module):
    def __init__(self, mels=10, words=3):
        super().__init__()
        self.hidden = QuantLinear(mels, 16)
        self.norm = nn.LayerNorm(16)
        self.out = QuantLinear(16, words, bits=8)

    def forward(self, x):
        return self.out(F.hardtanh(self.norm(self.hidden(x))))


def utterances(n):
    y = torch.arange(n) % 3
    x = 0.5 * torch.randn(n, 10)
    x[torch.arange(n), 3 * y] += 1.5
    return x, y


def run():
    torch.manual_seed(0)
    model = WakeWordNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = utterances(30)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    losses = []
    for _ in range(4):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}, losses


def verify(outcome):
    change, _ = outcome
    assert change["hidden.weight"] < 1e-8 and change["out.weight"] < 1e-8
    assert change["hidden.bias"] > 1e-4


TRUTH = Truth(
    fault="w and -w cancel in the backward and round has none: the weights get no gradient",
    names=("weight",),
    repair=("return w + (q - w).detach()",),
)
