"""Fake quantisation with a straight-through estimator and an observer that counts by numbers."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def fake_quant(x, scale, bits=4):
    top = 2 ** (bits - 1) - 1
    q = torch.round(x / scale).clamp(-top - 1, top) * scale
    return x + (q - x).detach()


class QuantLinear(nn.Linear):
    def __init__(self, *args):
        super().__init__(*args)
        self.register_buffer("amax", torch.zeros(()))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.amax.copy_(torch.maximum(0.9 * self.amax, x.abs().amax()))
        w = fake_quant(self.weight, self.weight.detach().abs().max() / 7)
        return F.linear(fake_quant(x, self.amax.clamp(min=1e-6) / 7), w, self.bias)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(QuantLinear(6, 16), nn.ReLU(), QuantLinear(16, 3))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    for _ in range(3):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth()
