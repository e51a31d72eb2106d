"""AG105: a number is the one that left torch if it has that value, whatever the lines and the variables say."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def stepped(loss_of):
    """A program whose loss is made of what an encoder and a head return."""

    def program():
        torch.manual_seed(0)
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            hidden = encoder(X)
            trained(optimizer, loss_of(F.cross_entropy(head(hidden), Y), hidden.pow(2).mean()))

    return program


def test_a_comment_that_names_the_number():
    """A constant is added on a line whose comment has the name of a variable that holds what left."""

    def commented(main, energy):
        value = energy.item()
        loss = main + 1e-8  # keeps the value away from 0
        return loss if value < 1e9 else main

    def attribute(main, energy):
        step = energy.item()
        loss = main + 0.1  # step loss, .step
        return loss if step < 1e9 else main

    silent(stepped(commented), stepped(attribute))


def test_a_constant_tensor_made_after_a_number_was_printed():
    """`torch.tensor(0.25)` is no value that left, be they equal."""

    def margin(main, energy):
        print(energy.item())
        return main + torch.tensor(0.25)

    def equal(main, energy):
        assert (energy * 0 + 0.25).item()
        return main + torch.tensor(0.25)

    silent(stepped(margin), stepped(equal))


def test_a_number_computed_from_what_left():
    """Scaled, shifted, averaged or added up, by constants, variables and globals: it is what left."""
    weight = 0.3

    def scaled_and_wrapped(main, energy):
        return main + torch.tensor(weight * energy.item())

    def shifted(main, energy):
        excess = energy.item() - 0.125
        return main + excess

    def summed_up(main, energy):
        total = 0.0
        for scale in (1, 2, 3):
            total += (energy * scale).item()
        return main + total / 3

    for loss_of, line in (
        (scaled_and_wrapped, "energy.item()"),
        (shifted, "energy.item()"),
        (summed_up, "* scale).item()"),
    ):
        diagnosed(stepped(loss_of), "AG105", line, "encoder", severity="warning", where=loss_of)


def test_zeros_that_came_back():
    """What many numbers equal is known by the object: a list of zeros that goes out and in again."""

    def zeros(main, energy):
        again = torch.tensor((energy * torch.zeros(1)).tolist())
        return main + again.sum()

    def other_zeros(main, energy):
        (energy * torch.zeros(1)).tolist()
        return main + torch.tensor([0.0] * len(X)).sum()

    diagnosed(stepped(zeros), "AG105", ".tolist()", "encoder", severity="warning", where=zeros)
    silent(stepped(other_zeros))
