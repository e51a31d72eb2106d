"""Which of the programs `make test` runs: of the healthy ones more than of the sick ones, and one of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.practice.programs import every, name_of, written_truth
from tests.practice.told import TOLD
from tests.shares import share

HEALTHY: Final = 2
SICK: Final = 8
"""One in so many is drawn."""
_IMPORTED = re.compile(r"^ *(?:import|from) (\w+)", re.MULTILINE)


def sampled() -> list[Path]:
    """Return the programs to run, in the order of their names: all of them where WHOLE=1 is set."""
    well = [source for source in every() if written_truth(source).healthy]
    sick = [source for source in every() if not written_truth(source).healthy]
    drawn = [
        *share(well, HEALTHY, name=name_of, kinds=libraries),
        *share(sick, SICK, name=name_of, kinds=lambda source: [*libraries(source), *faults(source)]),
    ]
    return sorted(drawn)


def faults(source: Path) -> Iterator[str]:
    """Yield what kinds of fault a program has: how its exception begins, who can see it, the rules told of it."""
    truth = written_truth(source)
    if truth.raises:
        yield f"raises {' '.join(truth.raises.split()[:4])}"
    yield from (f"is {name}" for name in ("every_line", "minor", "values", "before") if getattr(truth, name))
    yield from (rule for rule, name in TOLD.items() if name == name_of(source))


def libraries(source: Path) -> set[str]:
    """Return the modules that a program imports."""
    return set(_IMPORTED.findall(source.read_text(encoding="utf-8")))
