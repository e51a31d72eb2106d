"""The training steps of a capture, one by one: what stays of those whose records were folded away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct


class Runs(Struct, frozen=True, omit_defaults=True):
    """A column of integers, one a step; equal ones in a row are kept once: ``values[i]``, ``times[i]`` times."""

    values: tuple[int, ...] = ()
    times: tuple[int, ...] = ()

    def __len__(self) -> int:
        return sum(self.times)

    def __iter__(self) -> Iterator[int]:
        for value, times in zip(self.values, self.times, strict=True):
            for _ in range(times):
                yield value

    @property
    def stretches(self) -> Iterator[tuple[int, int, int]]:
        """(first step, behind its last, value) of each run of equal entries."""
        start = 0
        for value, times in zip(self.values, self.times, strict=True):
            yield start, start + times, value
            start += times

    @staticmethod
    def of(stretches: Iterable[tuple[int, int, int]]) -> Runs:
        """A column of such runs, equal neighbours as one."""
        values: list[int] = []
        times: list[int] = []
        for start, end, value in stretches:
            if values and values[-1] == value:
                times[-1] += end - start
            else:
                values.append(value)
                times.append(end - start)
        return Runs(tuple(values), tuple(times))


class StepChange(Struct, frozen=True, omit_defaults=True):
    """Something was otherwise in a step (counted from 1) than in all before.

    "graph": ops that autograd records ran at lines where none had run before; ``op`` and ``site`` are the first of
    them, ``more`` counts the others. "gradients": parameters ``lost`` their gradient (none when their optimizer
    stepped, one the time before), others ``gained`` one.
    """

    step: int
    kind: Literal["graph", "gradients"]
    op: str = ""
    site: int = -1
    more: int = 0
    lost: tuple[int, ...] = ()
    gained: tuple[int, ...] = ()


class History(Struct, frozen=True, omit_defaults=True):
    """One entry a training step in each column; a step ends with an optimizer's step (of several: with the last).

    ``steps`` were completed; ``unfinished``: the columns have one entry more, for a step that the program had begun
    when it ended or raised. ``folded``: of so many steps, the first ones, there is nothing in the capture but what
    stands here and what later records refer to.
    """

    steps: int = 0
    unfinished: bool = False
    folded: int = 0
    ops: Runs = Runs()
    """Torch calls."""
    nodes: Runs = Runs()
    """Autograd nodes in the graphs of the step's engine runs."""
    saved_bytes: Runs = Runs()
    """Bytes that these graphs kept for backward, each memory once, parameters not counted."""
    backwards: Runs = Runs()
    """Runs of the engine."""
    parameters: Runs = Runs()
    """Parameters in the optimizers that stepped."""
    without: Runs = Runs()
    """Index into ``sets``: which of them had no gradient then; -1: no optimizer stepped, or there are too many sets."""
    still: Runs = Runs()
    """Index into ``sets``: which of them the step did not write, or only at lr 0; -1 as above, or not seen."""
    stepped: Runs = Runs()
    """Index into ``stepping``: the optimizers that stepped, each as often as it did; -1 as above."""
    graph: Runs = Runs()
    """Which of the graphs met so far it was, numbered from 0; -1: there are too many different ones."""
    sets: tuple[tuple[int, ...], ...] = ()
    """Sets of parameters; -1 is one of which nothing else is left."""
    stepping: tuple[tuple[int, ...], ...] = ()
    """Optimizers that stepped together; -1 is one of which nothing else is left."""
    changes: tuple[StepChange, ...] = ()
    untold: int = 0
    """Changes beyond those that are kept."""
    reached: tuple[int, ...] = ()
    """Parameters that an engine run of a folded step gave a gradient."""
    used: tuple[int, ...] = ()
    """Parameters that an op of a folded step read, with autograd recording."""

    def __len__(self) -> int:
        return self.steps + self.unfinished

    def gradients(self) -> Runs:
        """Of each step: how many parameters had a gradient when their optimizer stepped; -1 not known."""
        return self._present(self.without)

    def written(self) -> Runs:
        """Of each step: how many parameters it wrote to at a learning rate other than 0, by their version counters.

        -1: not known. A fused step writes without moving a counter.
        """
        return self._present(self.still)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary a step, all with the same keys."""
        columns = {
            "ops": self.ops,
            "autograd_nodes": self.nodes,
            "saved_bytes": self.saved_bytes,
            "backwards": self.backwards,
            "parameters": self.parameters,
            "gradients": self.gradients(),
            "written": self.written(),
            "graph": self.graph,
        }
        rows = zip(*columns.values(), strict=True)
        return [{"step": number, **dict(zip(columns, row, strict=True))} for number, row in enumerate(rows, 1)]

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a step; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe() needs pandas: pip install pandas (history.records() does not)") from None
        return pd.DataFrame.from_records(self.records())

    def _present(self, missing: Runs) -> Runs:
        return Runs.of(
            (start, end, count - len(self.sets[index]) if index >= 0 else -1)
            for start, end, count, index in _together(self.parameters, missing)
        )


def _together(one: Runs, other: Runs) -> Iterator[tuple[int, int, int, int]]:
    """(first step, behind its last, value, value) of each stretch in which neither column changes."""
    left, right = list(one.stretches), list(other.stretches)
    at = beside = start = 0
    while at < len(left) and beside < len(right):
        (_, end, value), (_, other_end, other_value) = left[at], right[beside]
        until = min(end, other_end)
        yield start, until, value, other_value
        start, at, beside = until, at + (end == until), beside + (other_end == until)
