"""Columns of integers, written short: as what they are beside an earlier one, and equal neighbours once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

Runs = tuple[int | tuple[int, int], ...]
"""Integers; a pair is (an integer, how many of it follow each other)."""
Base = Literal["", "row", "last"]
"""What the numbers of a column are told beside: nothing, the number of their row, or the number before them.

Beside something, a number that lies near is twice how far it lies above, plus one; one that lies elsewhere is twice
itself. So a parameter, which many rows name, is the same in all of them, and so is what the row before has made.
"""
BASES: tuple[Base, ...] = ("", "row", "last")
_NEAR = 64
_OUT_OF_LINE = 1 << 62
"""Nothing is told beside a number as large: it stands for none, as the sequence number of a leaf does."""
_WORTH = 3
"""So many equal numbers are shorter as a pair."""


class DamagedColumnError(ValueError):
    """A column that no records can be made of."""


def runs_of(numbers: Iterable[int]) -> Runs:
    """The numbers, equal neighbours once."""
    runs: list[int | tuple[int, int]] = []
    for number, group in groupby(numbers):
        times = sum(1 for _ in group)
        if times < _WORTH:
            runs += [number] * times
        else:
            runs.append((number, times))
    return tuple(runs)


def length_of(runs: Runs) -> int:
    """How many numbers those are; nothing is written out for that."""
    return sum([1 if isinstance(run, int) else run[1] for run in runs])


def numbers_of(runs: Runs, count: int) -> list[int]:
    """The numbers; raises DamagedColumnError unless there are ``count`` of them."""
    if any(not isinstance(run, int) and run[1] < 1 for run in runs) or length_of(runs) != count:
        raise DamagedColumnError(f"a column does not have {count} entries")
    numbers: list[int] = []
    for run in runs:
        if isinstance(run, int):
            numbers.append(run)
        else:
            numbers += [run[0]] * run[1]
    return numbers


def told(numbers: Sequence[int], base: Base, rows: Iterable[int]) -> Sequence[int]:
    """The numbers as they are told beside that; ``rows``: the row of each."""
    if base == "row":
        return [
            2 * (number - row) + 1 if -_NEAR <= number - row <= _NEAR else 2 * number
            for number, row in zip(numbers, rows, strict=True)
        ]
    return _told_beside_last(numbers) if base == "last" else numbers


def _told_beside_last(numbers: Iterable[int]) -> list[int]:
    last = 0
    codes: list[int] = []
    code = codes.append
    for number in numbers:
        above = number - last
        if -_NEAR <= above <= _NEAR and number >= 0:
            code(2 * above + 1)
            last = number
        else:
            code(2 * number)
            if last < number < _OUT_OF_LINE:  # What is lower is mostly a parameter, between two results.
                last = number
    return codes


def untold(codes: Sequence[int], base: Base, rows: Iterable[int]) -> Sequence[int]:
    """The numbers that were told so."""
    if base == "row":
        return [(code >> 1) + row if code & 1 else code >> 1 for code, row in zip(codes, rows, strict=True)]
    return [*_untold_beside_last(codes)] if base == "last" else codes


def _untold_beside_last(codes: Iterable[int]) -> Iterator[int]:
    last = 0
    for code in codes:
        number = code >> 1
        if code & 1:
            last = number = number + last
        elif last < number < _OUT_OF_LINE:
            last = number
        yield number


def shortest(numbers: Sequence[int], rows: Sequence[int]) -> Base:
    """What to tell them beside: that with the fewest different ones, tried at three places of a long column."""
    if not numbers or numbers.count(numbers[0]) == len(numbers):
        return ""
    step = max(1, len(numbers) // _TRIED)
    starts = [0] if step == 1 else [0, len(numbers) // 2, len(numbers) - _TRIED // 3]
    size = len(numbers) if step == 1 else _TRIED // 3

    def different(base: Base) -> int:
        return len(
            {code for start in starts for code in told(numbers[start : start + size], base, rows[start : start + size])}
        )

    return min(BASES, key=different)


_TRIED = 1_500
"""Entries that are looked at, to know what is best for all."""
