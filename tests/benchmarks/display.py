"""Progress lines, tables and verdicts."""

from __future__ import annotations

import time
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

console = Console(highlight=False)
if not console.is_terminal:
    console = Console(highlight=False, width=130)
_STARTED = time.monotonic()


class Aim(NamedTuple):
    """What was promised of a row, and whether it held: None where the machine is too noisy to tell."""

    text: str
    met: bool | None


class Row(NamedTuple):
    """One line of a table: how many times the floor (best rounds, and typically), and what that is in units."""

    name: str
    ratio: float | None
    typical: float | None
    figure: str
    aim: Aim | None = None


class Section(NamedTuple):
    """A table."""

    title: str
    floor: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def progress(text: str) -> None:
    """Say what is being measured now."""
    console.print(Text(f"[{time.monotonic() - _STARTED:5.0f} s] {text}", style="dim"))


def show(section: Section) -> None:
    """Print a table, each missed aim in its row."""
    table = Table(title=section.title, title_justify="left", title_style="bold", expand=False)
    table.add_column("what")
    table.add_column(f"× {section.floor}", justify="right")
    table.add_column("median", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("aim")
    for row in section.rows:
        table.add_row(row.name, _times(row.ratio), _times(row.typical), row.figure, _verdict(row.aim))
    console.print()
    console.print(table)
    for note in section.notes:
        console.print(Text(f"  {note}"))
    console.print()


def summary(sections: list[Section]) -> None:
    """Print how many aims were met, and each that was not."""
    judged = [(section, row, row.aim) for section in sections for row in section.rows if row.aim is not None]
    console.print(Text(f"{sum(aim.met is True for *_, aim in judged)} of {len(judged)} aims met", style="bold"))
    for section, row, aim in judged:
        if not aim.met:
            line = Text(f"  {section.title}: {row.name}: {row.figure}: ")
            console.print(line.append(_verdict(aim)), soft_wrap=True)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"


def _verdict(aim: Aim | None) -> Text:
    if aim is None:
        return Text("")
    if aim.met is None:
        return Text(f"too noisy to tell: {aim.text}", style="yellow")
    return Text(aim.text, style="green") if aim.met else Text(f"misses the aim: {aim.text}", style="bold red")


def milliseconds(value: float) -> str:
    """``12.3 ms``."""
    return f"{value * 1e3:,.1f} ms"


def microseconds(value: float) -> str:
    """``12.3 µs``."""
    return f"{value * 1e6:,.2f} µs"
