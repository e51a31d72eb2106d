"""NaN and Inf that the program itself shows, where no values were read: a note says how to find their source."""

from __future__ import annotations

import math

import pytest
import torch

from .programs import inspected, line_of


def spoiled():
    weight = torch.zeros(3, requires_grad=True)
    return weight.sum().log() * 0


def taken_out():
    total = 0.0
    total += spoiled().item()  # shown
    return total


def converted():
    return float(spoiled().detach())  # shown


def printed():
    print("loss", spoiled())  # shown


def formatted():
    return f"{spoiled():.3f}"  # shown


def refused():
    torch.distributions.Categorical(probs=spoiled().expand(3), validate_args=True)  # shown


def infinite():
    return (1 / torch.zeros(1, requires_grad=True)).item()  # shown


@pytest.mark.parametrize("program", [taken_out, converted, printed, formatted, refused, infinite])
def test_what_the_program_shows_is_noted(program):
    """The note has the number, the line, and what to ask for; asked for, there is no note."""
    (note,) = inspected(program).notes
    assert note.startswith("inf occurred" if program is infinite else "nan occurred")
    assert f"test_unread.py:{line_of(program, '# shown')}" in note
    assert "values=True" in note
    assert "--values" in note
    assert not inspected(program, values=True).notes


def test_the_first_place_is_noted():
    """Once a NaN is there, everything is one: the first place says most."""

    def program():
        for _ in range(3):
            spoiled().item()  # first
            print(spoiled())

    (note,) = inspected(program).notes
    assert f":{line_of(program, '# first')} " in note


def test_what_is_meant_is_not_noted():
    """Inf in masks and bounds, a tensor called nan, and ordinary numbers are no news."""

    def program():
        nanometres = torch.ones(3, requires_grad=True)
        mask = torch.full((2, 2), -math.inf).triu(1)
        print(nanometres, mask, torch.tensor(math.inf).item())
        (nanometres * 2).sum().item()

    def unrelated():
        torch.ones(2, requires_grad=True).sum()
        raise ValueError("no information in 'finance'")

    assert not inspected(program).notes
    assert not inspected(unrelated).notes
