"""The rows of the history as facts: what each counts, and what it says of one parameter."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.analysis.step_history.writes import writes_of


class Told(NamedTuple):
    """One row: its text in parts, one a fact, and how often the same happened."""

    parts: tuple[str, ...]
    times: int = 1

    @classmethod
    def of(cls, text: str, times: int = 1) -> Told:
        """A row as it is shown."""
        return cls(tuple(text.split("; ")), times)

    @property
    def counts(self) -> list[int]:
        """The numbers of its first part, as of 3 of 5 parameters; digits in names are none."""
        return numbers(self.parts[0])

    def about(self, *names: str) -> str:
        """The one part that says something of the first name; it has to have all the others, too."""
        (found,) = [part for part in self.parts if names[0] in part.replace(":", "").replace(",", "").split()]
        missing = [name for name in names if name not in found]
        assert not missing, f"no {missing} in {found!r}"
        return found


def numbers(text: str) -> list[int]:
    """The whole numbers that stand alone in it."""
    return [int(found) for found in re.findall(r"(?<![\w.])\d+(?!\.?\w)", text)]


def step_rows(report: Any) -> list[Told]:
    """What is said of the steps, in order, equal ones as one."""
    return [Told.of(event.said, event.times) for event in history_of(report.capture) if event.api.endswith(".step()")]


def fates(report: Any) -> list[dict[str, str]]:
    """Of each step: parameter -> "written", "unseen", or why it stayed as it was."""
    capture = report.capture
    found = []
    for step in capture.steps:
        wrote = writes_of(capture, step)
        still = {tensor: why for why, tensors in wrote.still.items() for tensor in tensors}
        fate = {**dict.fromkeys(wrote.written, "written"), **dict.fromkeys(wrote.unseen, "unseen"), **still}
        found.append({capture.display_names.in_table(tensor): why for tensor, why in fate.items()})
    return found
