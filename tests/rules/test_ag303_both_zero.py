"""AG303: products of two parameters that are both zero."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = X.sum(1, keepdim=True)


class Adapted(nn.Module):
    """A layer with a low-rank update."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(rank, base.in_features))  # a
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


class Linears(Adapted):
    """The same with functions of a layer."""

    def forward(self, x):
        return self.base(x) + 0.5 * nn.functional.linear(nn.functional.linear(x, self.a), self.b)


class Gated(nn.Module):
    """A residual whose gate and last layer are both zero."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.zeros(1))
        self.b = nn.Parameter(torch.zeros(4, 4))

    def forward(self, x):
        return self.base(x) + self.a * (x @ self.b)


class Bypassed(Adapted):
    """One of the two has a second way to the loss."""

    def forward(self, x):
        return super().forward(x) + self.b.sum()


def fit(make, *, start=lambda net: None, data=(X, X, X)):
    net = make(nn.Linear(4, 4))
    start(net)
    last = nn.Linear(4, 1)
    optimizer = torch.optim.AdamW([p for p in [*net.parameters(), *last.parameters()] if p.requires_grad], lr=0.1)
    for x in data:
        trained(optimizer, (last(net(x)) - Y).pow(2).mean())


@pytest.mark.parametrize("make", [Adapted, Linears, Gated])
def test_both_factors_are_zero(make):
    """Neither gets a gradient, whatever computes the product; with one random factor both learn."""
    place = {"where": Adapted.__init__} if make is not Gated else {"where": Gated.__init__}
    culprit = "# a" if make is not Gated else "torch.zeros(1)"
    diagnosed(lambda: fit(make), "AG303", culprit, "0.a", "0.b", severity="warning", **place)
    calm(
        lambda: fit(make, start=lambda net: nn.init.normal_(net.a)),
        lambda: fit(make, start=lambda net: nn.init.normal_(net.b)),
    )


def test_zeros_that_are_no_parameters():
    """A batch of zeros, or a second way for one of the factors: the next step moves them."""
    calm(
        lambda: fit(Adapted, start=lambda net: nn.init.normal_(net.a), data=(torch.zeros(8, 4), X, X)),
        lambda: fit(Bypassed),
    )


def test_frozen_zeros():
    """Factors that nobody trains are none that stay behind."""
    calm(lambda: fit(Adapted, start=lambda net: net.requires_grad_(False)))
