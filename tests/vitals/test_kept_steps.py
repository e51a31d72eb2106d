"""Which steps of a long run are kept."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autograd_inspector.capture.vitals.kept_steps import KeptSteps


def kept(steps, capacity=16):
    numbers = KeptSteps(capacity)
    for step in range(1, steps + 1):
        numbers.add(step)
    return numbers


def test_a_short_run_is_kept_whole():
    """Nothing goes as long as there is room."""
    assert kept(16).numbers == [*range(1, 17)]


@pytest.mark.parametrize("steps", [17, 1_000, 20_000])
def test_both_ends_are_dense(steps):
    """The first and the last steps stay, distances grow towards the middle, and there are no more than asked."""
    numbers = kept(steps)
    gaps = [b - a for a, b in zip(numbers.numbers, numbers.numbers[1:], strict=False)]
    assert len(numbers.numbers) == 16
    assert numbers.seen == steps
    assert numbers.numbers[:2] == [1, 2]
    assert numbers.numbers[-2:] == [steps - 1, steps]
    widest = gaps.index(max(gaps))
    assert max(gaps) < steps
    for nearer, further in pairwise(gaps[: widest + 1]):
        assert further >= nearer / 3
    assert 2 < widest < 12


def test_the_place_of_the_dropped_step_is_told():
    """Who keeps values beside the numbers can follow."""
    numbers, beside = KeptSteps(8), []
    for step in range(1, 500):
        beside.append(step)
        place = numbers.add(step)
        if place >= 0:
            del beside[place]
    assert beside == numbers.numbers


def test_fewer_than_three_cannot_be_kept():
    """The two ends and one between are the least."""
    with pytest.raises(ValueError, match="first, the last"):
        KeptSteps(2)
