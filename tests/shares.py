"""Which share of a large corpus `make test` runs. `make thorough` runs all of it: it sets WHOLE=1."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar
from zlib import crc32

Case = TypeVar("Case")
WHOLE = os.environ.get("WHOLE", "") == "1"
"""Whether every case of every corpus is to run."""


def share(
    cases: Iterable[Case],
    one_in: int,
    *,
    name: Callable[[Case], str] = str,
    kinds: Callable[[Case], Sequence[object]] = lambda case: (),
    whole: bool = WHOLE,
) -> list[Case]:
    """Return about one in `one_in` of the cases, in their order, and of each kind at least one.

    A checksum of its name decides whether a case is drawn, so that no case depends on which others there are. A kind
    that none of the drawn cases has is brought by the case of the lowest checksum that has it.
    """
    cases = list(cases)
    if whole:
        return cases
    ranks = [crc32(name(case).encode()) for case in cases]
    chosen = {number for number, rank in enumerate(ranks) if rank % one_in == 0}
    covered = {kind for number in chosen for kind in kinds(cases[number])}
    for number in sorted(range(len(cases)), key=ranks.__getitem__):
        if not covered.issuperset(kinds(cases[number])):
            chosen.add(number)
            covered.update(kinds(cases[number]))
    return [case for number, case in enumerate(cases) if number in chosen]
