"""What is known of a program of this folder: how it ends, where the fault lies, what removes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CAUSE: Final = "# cause"  # ends a line whose author made the fault
ALSO: Final = "# also"  # ends a line that is as good an answer
SYMPTOM: Final = "# symptom"  # ends the line where the exception is raised, or the wrong value is seen


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The truth about one program; a healthy one has no `fault`."""

    fault: str = ""  # what is wrong, in a few words of the field; empty: nothing is
    raises: str = ""  # how the message of the exception that ends `run()` begins; empty: it ends without one
    names: tuple[str, ...] = ()  # what a good answer mentions: the parameter, the tensor, the call
    every_line: bool = False  # a good answer names every line that is marked as a cause, not any one of them
    minor: bool = False  # worth an info, not a warning
    values: bool = False  # only who reads the numbers can know it
    before: bool = False  # the fault was made in `setup()`, before anything is recorded
    repair: tuple[str, ...] = ()  # what takes the place of each line that is marked as a cause, in their order

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with the program."""
        return not self.fault


def marked(source: Path, mark: str) -> tuple[int, ...]:
    """Return the numbers (from 1) of the lines of `source` that end with `mark`."""
    lines = source.read_text(encoding="utf-8").splitlines()
    return tuple(number for number, line in enumerate(lines, start=1) if line.rstrip().endswith(mark))


def fails(well: Callable[[Any], None]) -> Callable[[Any], None]:
    """A `verify()` that asserts the symptom, made of one that asserts what a program without the fault returns."""

    def verify(outcome: Any) -> None:
        try:
            well(outcome)
        except AssertionError:
            return
        raise AssertionError("the program does what it should")

    return verify
