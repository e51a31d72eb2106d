"""Glow: the log determinant is taken of `weight.data`, so that only the data term teaches the convolution."""

import torch
from torch import nn

from tests.practice.truth import Truth


class InvertibleLinear(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(dim, dim))[0])

    def forward(self, x):
        logdet = torch.linalg.slogdet(self.weight.data)[1]  # cause
        return x @ self.weight.t(), logdet


def run():
    torch.manual_seed(0)
    layers = nn.ModuleList(InvertibleLinear() for _ in range(2))
    opt = torch.optim.Adam(layers.parameters(), 1e-2)
    sizes = []
    for _ in range(4):
        z, total = torch.randn(32, 4) * 3, 0.0
        for layer in layers:
            z, logdet = layer(z)
            total = total + logdet
        loss = 0.5 * z.pow(2).sum(1).mean() - total
        opt.zero_grad()
        loss.backward()
        opt.step()
        sizes.append(float(total))
    return total


def verify(total):
    assert not total.requires_grad


TRUTH = Truth(
    fault="the log determinant has no gradient",
    names=("slogdet", "data"),
    repair=("logdet = torch.linalg.slogdet(self.weight)[1]",),
)
