"""AG101: straight-through estimators whose gradient has the wrong sign."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained(through):
    def program():
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(decoder(through(encoder(X))), X).backward()
            optimizer.step()

    return program


def one_hot(logits):
    soft = logits.softmax(dim=1)
    hard = F.one_hot(soft.argmax(dim=1), 3).float()
    return hard - soft + soft.detach()  # Reversed.


def rounded(h):
    return (h.round().detach() + h.detach()) - h  # Reversed.


def binary(logits):
    soft = torch.sigmoid(logits)
    hard = (soft > 0.5).float()
    return (hard + soft.detach()) - soft  # Reversed.


def codes_of(z):
    codes = torch.nn.Parameter(torch.eye(3))
    return codes[torch.cdist(z, codes).argmin(dim=1)]


def swapped(z):
    codes = codes_of(z)
    return codes + (z - codes).detach()  # Swapped.


def test_the_two_have_changed_places():
    """The value is what the encoder computed, and the code that was looked up gets the gradient."""
    diagnosed(trained(swapped), "AG101", "Swapped.", "are swapped", severity="warning", where=swapped)


@pytest.mark.parametrize("through", [one_hot, rounded, binary])
def test_the_wrong_one_is_detached(through):
    """The value is that of the hard one, and gradients point uphill."""
    diagnosed(trained(through), "AG101", "Reversed.", "sign", severity="warning", where=through)


def the_right_one(logits):
    soft = logits.softmax(dim=1)
    hard = F.one_hot(soft.argmax(dim=1), 3).float()
    return hard - soft.detach() + soft


def in_brackets(h):
    return h + (h.round() - h).detach()


def quantised(z):
    codes = codes_of(z)
    return z + (codes - z).detach()


def clamped_in_backward(h):
    clamped = h.clamp(-1, 1)
    return clamped + (h - clamped).detach()


def reversal(h):
    return h.detach() + (h.detach() - h)


def bonus(h):
    entropy = h.sigmoid()
    return h - entropy + entropy.detach()


@pytest.mark.parametrize("through", [the_right_one, in_brackets, quantised, clamped_in_backward, reversal, bonus])
def test_estimators_and_other_sums(through):
    """The usual ways, another derivative for the same value, a reversal, a term that acts on the gradient alone."""
    calm(trained(through))
