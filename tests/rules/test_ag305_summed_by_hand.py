"""AG305: gradients that the program adds up itself, over the steps that have used them."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

SENT = torch.randn(3, 2, 1, 4, generator=torch.Generator().manual_seed(1))


def rounds(add, *, cleared):
    net = nn.Linear(4, 1, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for received in SENT:
        for gradient in received:
            add(net.weight, gradient)
        optimizer.step()  # Uses the sum.
        if cleared:
            optimizer.zero_grad()


def into_a_new_tensor(weight, gradient):
    weight.grad = gradient / 2 if weight.grad is None else weight.grad + gradient / 2  # Adds.


def in_place(weight, gradient):
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    weight.grad += gradient / 2  # Adds.


def decayed(weight, gradient):
    weight.grad = gradient if weight.grad is None else 0.5 * weight.grad + gradient


def replaced(weight, gradient):
    weight.grad = gradient.clone()


def test_sums_of_several_rounds():
    """The line that adds, and the step; both ways to add. What is cleared behind the step begins anew."""
    for add in (into_a_new_tensor, in_place):
        finding = diagnosed(
            lambda add=add: rounds(add, cleared=False), "AG305", "# Adds.", "weight", severity="warning", where=add
        )
        assert "Uses the sum" in finding.locations[-1].source
        calm(lambda add=add: rounds(add, cleared=True))


def test_averages_and_new_gradients():
    """An average that forgets is meant, and a gradient that takes the place of the old one is no sum."""
    calm(lambda: rounds(decayed, cleared=False))
    calm(lambda: rounds(replaced, cleared=False))
