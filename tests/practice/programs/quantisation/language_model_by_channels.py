"""Quantisation-aware tuning of a small model: per-channel scales, straight-through rounding, activations observed."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class QuantLinear(nn.Linear):
    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.levels = 2 ** (bits - 1) - 1
        self.register_buffer("running_max", torch.ones(()))

    def quantised_weight(self):
        scale = self.weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / self.levels
        rounded = (self.weight / scale).round().clamp(-self.levels, self.levels) * scale
        return self.weight + (rounded - self.weight).detach()

    def quantised_input(self, x):
        if self.training:
            with torch.no_grad():
                self.running_max.lerp_(x.abs().max(), 0.1)
        step = self.running_max / 127
        clipped = x.clamp(-self.running_max, self.running_max)
        return clipped + ((clipped / step).round() * step - clipped).detach()

    def forward(self, x):
        return F.linear(self.quantised_input(x), self.quantised_weight(), self.bias)


def run():
    torch.manual_seed(0)
    wte = nn.Embedding(12, 8)
    net = nn.Sequential(wte, nn.LayerNorm(8), QuantLinear(8, 16), nn.GELU(), QuantLinear(16, 8), nn.Linear(8, 12))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(3):
        ids = torch.randint(12, (4, 7))
        loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert all(p.grad is not None for p in net.parameters())


TRUTH = Truth()
