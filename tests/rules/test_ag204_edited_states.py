"""AG204: entries of a state_dict that are edited for another model."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def pair():
    return nn.Linear(4, 2), nn.Linear(4, 2)


def mixed(state, other):
    for name, value in other.state_dict().items():
        state[name] += value  # Mixed.
        state[name] /= 2
    return state


def test_an_average_in_the_state_of_the_first_model():
    """The mean of two models is loaded into a third one, and the first is that mean as well."""

    def program():
        first, second = pair()
        average = copy.deepcopy(first)
        state = first.state_dict()  # Taken.
        average.load_state_dict(mixed(state, second))
        print(float(first(X).mean()), float(average(X).mean()))

    diagnosed(program, "AG204", "# Taken.", "first.weight", "first.bias", "state_dict()", severity="warning")


def test_states_that_are_copied_or_meant():
    """A clone or a deepcopy is edited; a model is given its own edits; the first is not used, or loads the mean."""

    def cloned():
        first, second = pair()
        average = copy.deepcopy(first)
        average.load_state_dict(mixed({name: value.clone() for name, value in first.state_dict().items()}, second))
        print(float(first(X).mean()), float(average(X).mean()))

    def deepcopied():
        first, second = pair()
        average = copy.deepcopy(first)
        average.load_state_dict(mixed(copy.deepcopy(first.state_dict()), second))
        print(float(first(X).mean()), float(average(X).mean()))

    def its_own():
        first, second = pair()
        first.load_state_dict(mixed(first.state_dict(), second))
        print(float(first(X).mean()))

    def not_used():
        first, second = pair()
        average = nn.Linear(4, 2)
        average.load_state_dict(mixed(first.state_dict(), second))
        print(float(average(X).mean()))

    def synchronised():
        first, second = pair()
        average = nn.Linear(4, 2)
        average.load_state_dict(mixed(first.state_dict(), second))
        first.load_state_dict(average.state_dict())
        print(float(first(X).mean()))

    calm(cloned, deepcopied, its_own, not_used, synchronised)


def test_edits_of_the_model_that_are_handed_on():
    """Noise on the model's own weights, through a state_dict of its own, before another model takes the result."""

    def program():
        first, second = pair()
        for value in first.state_dict().values():
            value.add_(0.01 * torch.randn_like(value))
        second.load_state_dict(first.state_dict())
        print(float(first(X).mean()), float(second(X).mean()))

    calm(program)
