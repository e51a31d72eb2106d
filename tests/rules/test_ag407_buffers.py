"""AG407: a buffer in the memory of a parameter."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Masked(nn.Linear):
    def __init__(self, take, fill):
        super().__init__(4, 4)
        self.register_buffer("mask", take(self.weight))
        fill(self.mask)

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)


def by_data(weight):
    return weight.data  # Shared.


def by_detach(weight):
    return weight.detach()  # Shared.


def copied(weight):
    return weight.detach().clone()


def of_ones(weight):
    return torch.ones_like(weight)


def filled(mask):
    mask.fill_(1)


def filled_in_part(mask):
    mask[:, 2:] = 0


def left(mask):
    pass


def masked(take, fill, *, frozen=False):
    def program():
        layer = Masked(take, fill)
        head = nn.Linear(4, 1)
        layer.weight.requires_grad_(not frozen)
        optimizer = torch.optim.Adam([p for p in (*layer.parameters(), *head.parameters()) if p.requires_grad])
        for _ in range(3):
            trained(optimizer, head(layer(X)).pow(2).mean())

    return program


@pytest.mark.parametrize("take", [by_data, by_detach])
@pytest.mark.parametrize("fill", [filled, filled_in_part])
def test_a_mask_that_is_the_weight(take, fill):
    """Filling the buffer overwrites the weight, and each step changes the mask."""
    diagnosed(masked(take, fill), "AG407", "# Shared.", "mask", "weight", severity="warning", where=take)


def test_masks_of_their_own():
    """Copied, or made like the weight; or shared with a weight that no optimizer steps, or never written."""
    calm(
        masked(copied, filled),
        masked(of_ones, filled_in_part),
        masked(by_data, filled, frozen=True),
        masked(by_data, left),
    )
