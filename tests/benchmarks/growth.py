"""How time and bytes grow with the length of a program: each at ten times the ops, again and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .display import Aim, Row, Section, progress
from .growing import PROGRAMS

MOST = 1.3
"""At ten times the ops an op may take so many times as long, and as many bytes."""
STEADY = 1.15
"""Where an op of the program alone takes more than so many times as long, the machine is busier than it was."""
REST, WRITTEN, FROM = 500, 60, 100_000
"""Bytes of an op in a report that nobody has read yet, and of its JSON, in programs of so many ops and more."""
SECONDS, BYTES = 600, 8e9
"""A program that takes more of the clock or of memory is given up."""
_ROOT = Path(__file__).parents[2]


class Given(NamedTuple):
    """Why there are no figures."""

    up: str


class Cost(NamedTuple):
    """Of one op. ``close`` is the time from the end of the block until the report was read as JSON and as text."""

    plain: float
    record: float
    close: float
    rest: float
    held: float
    written: float

    def times(self, shorter: Cost) -> dict[str, float]:
        """How many times what an op takes in a program of a tenth of the length."""
        return {"recording": self.record / shorter.record, "closing": self.close / shorter.close}

    def bytes(self, shorter: Cost) -> dict[str, float]:
        """How many times what of an op is kept there."""
        return {"bytes held": self.held / shorter.held, "JSON": self.written / shorter.written}

    @property
    def small(self) -> bool:
        """Whether it takes no more bytes than an op may in a long program."""
        return self.rest <= REST and self.written <= WRITTEN

    def __str__(self) -> str:
        return (
            f"recording {self.record * 1e6:.2f} µs, closing {self.close * 1e6:.2f} µs, "
            f"held {self.rest:,.0f} B, once read {self.held:,.0f} B, JSON {self.written:,.0f} B an op"
        )


def measure(*, lengths: tuple[int, ...]) -> Iterator[Section]:
    """A table of each program, from the shortest to the longest."""
    return (_program(name, lengths) for name in PROGRAMS)


def _program(name: str, lengths: tuple[int, ...]) -> Section:
    rows: list[Row] = []
    shorter: Cost | Given | None = None
    for ops in lengths:
        progress(f"growth: {name}, {ops:,} ops")
        cost = Given("not tried: see the row above") if isinstance(shorter, Given) else _cost(name, ops)
        rows.append(_row(ops, cost, shorter))
        shorter = cost
    return Section(f"Growth: {name}", "the row above", tuple(rows))


def _row(ops: int, cost: Cost | Given, shorter: Cost | Given | None) -> Row:
    title, text = f"{ops:,} ops", f"at most {MOST}× an op"
    if isinstance(cost, Given):
        return Row(title, None, None, cost.up, Aim(text, met=False))
    if not isinstance(shorter, Cost):
        return Row(title, None, None, str(cost))
    times, sizes = cost.times(shorter), cost.bytes(shorter)
    over = {what: grown for what, grown in (times | sizes).items() if grown > MOST}
    if over:
        text += "; " + ", ".join(f"{what} {grown:.2f}×" for what, grown in over.items())
    noisy = over and over.keys() <= times.keys() and cost.plain / shorter.plain > STEADY
    if noisy:
        text += f", the program alone {cost.plain / shorter.plain:.2f}×"
    worst = max((times | sizes).values())
    large = ops >= FROM and not cost.small
    if large:
        text += f"; at most {REST} B held and {WRITTEN} B of JSON"
    return Row(title, worst, None, str(cost), Aim(text, None if noisy and not large else not (over or large)))


def _cost(name: str, ops: int) -> Cost | Given:
    figures = _figures(name, ops)
    if isinstance(figures, Given):
        return figures
    return Cost(
        figures["plain"] / ops,
        (figures["block"] - figures["plain"]) / ops,
        (figures["close"] + figures["json"] + figures["text"]) / ops,
        figures["rest"] / ops,
        figures["held"] / ops,
        figures["written"] / ops,
    )


def _figures(name: str, ops: int) -> dict[str, float] | Given:
    """What ``growing`` prints, in a process of its own: nothing is left there from another program."""
    command = [sys.executable, "-m", f"{__package__}.growing", name, str(ops)]
    with tempfile.TemporaryFile("w+") as out, subprocess.Popen(command, stdout=out, cwd=_ROOT) as process:
        ends = time.monotonic() + SECONDS
        while process.poll() is None:
            time.sleep(0.1)
            over = (
                f"{SECONDS:,} s" if time.monotonic() > ends else f"{BYTES / 1e9:g} GB" if _rss(process) > BYTES else ""
            )
            if over:
                process.kill()
                return Given(f"given up: it took more than {over}")
        out.seek(0)
        if process.returncode:
            return Given(f"failed: it ended with code {process.returncode}")
        figures: dict[str, float] = json.loads(out.read().splitlines()[-1])
        return figures


def _rss(process: subprocess.Popen[bytes]) -> float:
    """Bytes of a process; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1:2]
    except OSError:
        return 0
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE")
