"""What every integration takes, and what of it is refused."""

from __future__ import annotations

import math
import os
from typing import Literal, TypedDict

from autograd_inspector.integrations.delivery import FORMATS
from autograd_inspector.integrations.schedule import BUDGET, Regularly, Schedule, WithinBudget
from autograd_inspector.kernel.spelling import did_you_mean


class Options(TypedDict, total=False):
    """The options of every integration.

    ``first``: inspect the first N steps of a run (1); ``every``: and every K-th step (0: none).
    ``failing``: explain the step that raises (True). Any step may raise, so every step is recorded, and forgotten when
    up to 64 steps have ended, which costs 0.015 to 0.06 ms of CPU time per torch call, independent of tensor sizes.
    False records only the chosen steps.
    ``every="auto"``: inspect as many steps as make the training longer by at most ``budget`` (0.03), and the steps
    where something is new; the other steps cost nothing: see :class:`.WithinBudget`. ``failing`` is False in this case.
    ``values``, ``ignore``, ``compiled``: as in ``inspect()``.
    ``vitals``: each captured step (with ``failing`` every step, otherwise the chosen ones) adds its gradient norms,
    updates, activations and memory to one record of the run. The record is in ``callback.vitals`` and in the reports.
    The figures of the last step go to the trainer's loggers, and three CSV tables are written to ``directory`` at the
    end of the run.
    ``directory``: the folder for reports, by default beside the trainer's own logs; ``formats``: any of "html", "json",
    "txt", or () for no files.
    ``all_ranks``: with several ranks, rank 0 reports on the chosen steps. Another rank reports only on a step that
    raised there, if a finding explains it, so a rank that only lost its connection to a failed rank prints nothing.
    True: all ranks report. At the end of the run, rank 0 writes ``all-ranks.html``, which compares all ranks in the
    last chosen step.
    """

    first: int
    every: int | Literal["auto"]
    budget: float
    failing: bool
    values: bool
    vitals: bool
    compiled: Literal["as it is", "eager"]
    ignore: tuple[str, ...] | list[str]
    directory: str | os.PathLike[str] | None
    formats: tuple[str, ...] | list[str]
    all_ranks: bool


_KNOWN = frozenset(Options.__annotations__)


def schedule_of(options: Options) -> Schedule:
    """Which steps are watched."""
    first, every = options.get("first", 1), options.get("every", 0)
    return WithinBudget(options.get("budget", BUDGET), first) if every == "auto" else Regularly(first, every)


def captures_each(options: Options) -> bool:
    """Whether each step is captured, since any may fail."""
    return options.get("failing", options.get("every") != "auto")


def check_options(options: Options) -> None:
    """Raise TypeError for an option that does not exist, ValueError for what one cannot be."""
    unknown = sorted(set(options) - _KNOWN)
    if unknown:
        hint = did_you_mean(unknown[0], sorted(_KNOWN)) or f"; the options are {sorted(_KNOWN)}"
        raise TypeError(f"autograd_inspector: no option is called {unknown[0]!r}{hint}")
    unknown_formats = sorted(set(options.get("formats", ())) - set(FORMATS))
    if unknown_formats:
        raise ValueError(f"autograd_inspector: formats are {', '.join(FORMATS)}, not {unknown_formats[0]!r}")
    if options.get("compiled", "as it is") not in {"as it is", "eager"}:
        raise ValueError(f"autograd_inspector: compiled={options['compiled']!r} is neither 'as it is' nor 'eager'")
    every, budget = options.get("every", 0), options.get("budget", BUDGET)
    if every != "auto" and not isinstance(every, int):
        raise ValueError(f'autograd_inspector: every must be a number of steps or "auto", not {every!r}')
    if every != "auto" and "budget" in options:
        raise ValueError('autograd_inspector: budget needs every="auto"')
    if every == "auto" and options.get("failing", False):
        raise ValueError('autograd_inspector: failing=True captures each step, so every="auto" cannot keep its budget')
    if not 0 <= budget < math.inf:
        raise ValueError(
            f"autograd_inspector: budget must be a fraction of the training time such as 0.03, not {budget!r}"
        )
