"""One notebook a graph, one of ten widgets, and the tables of what was measured in them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.views.assets import asset
from tests.benchmarks.display import Aim, Row, Section, progress
from tests.benchmarks.machine import slower

from .hands import Hands
from .notebook import Notebook, browsing, notebook
from .opening import FLOOR, Opening, openings
from .others import dot, torchvista
from .programs import SIZES
from .spread import Spread

PAINT = {"GPT-2 small": 150, "3,000 nodes": 200, "50,000 nodes": 1000}
"""Milliseconds from running the cell to the picture."""
FRAME, EXPAND, TASK = 20, 50, 200
BYTES, LARGE = 250, 3_000
MODULE = 61_500
TEN = 10
IDLE = "frames of the page at rest (p95)"

_IMPORT = "from tests.benchmarks.widget.programs import captured, floor, shown\n"


class Subject(NamedTuple):
    """A graph as it was measured."""

    name: str
    nodes: int
    bytes: int
    opening: Opening
    hands: Hands


def sections(executable: str, *, quick: bool) -> Iterator[Section]:
    """The tables."""
    rounds = 3 if quick else 7
    sizes = list(SIZES.items())[: 2 if quick else 3]
    with browsing(executable) as (lab, browser):
        subjects = []
        for name, (layers, times) in sizes:
            progress(f"the widget on {name}")
            cells = f"{_IMPORT}report = captured({layers}, {times})", "shown(report)", "floor()"
            with notebook(lab, browser, name.replace(",", "").replace(" ", "-"), *cells) as page:
                page.run(0)
                printed = page.printed(0)
                opening = openings(page, rounds)
                subjects.append(Subject(name, int(printed["nodes"]), int(printed["bytes"]), opening, Hands(page)))
        yield _opening(subjects)
        yield _use(subjects)
        progress(f"{TEN} widgets in one notebook")
        cells = f"{_IMPORT}report = captured{SIZES['GPT-2 small']}", *["shown(report)"] * TEN
        with notebook(lab, browser, "ten", *cells) as page:
            page.run(0)
            yield _ten(page)
        progress("torchvista and dot on the same graphs")
        yield _others(subjects, browser)


def _aim(value: float, budget: float, unit: str) -> Aim:
    return Aim(f"under {budget:,} {unit}", value < budget)


def _frames(title: str, frames: Spread, idle: Spread) -> Row:
    """The 95th percentile decides, unless frames in which nothing happens are late as well."""
    met = True if frames.late < FRAME else None if idle.late >= FRAME else False
    figure = f"median {frames.middle:.1f} ms, p95 {frames.late:.1f} ms a frame"
    ratio, typical = frames.late / idle.late, frames.middle / idle.middle
    return Row(title, ratio, typical, figure, Aim(f"under {FRAME} ms", met))


def _opening(subjects: list[Subject]) -> Section:
    rows = []
    for name, nodes, _, opening, _ in subjects:
        total, base = opening.total, opening.floor
        figure = (
            f"{total.best:,.0f} ms, median {total.middle:,.0f} = {opening.before.middle:,.0f} to the kernel "
            f"+ {opening.kernel.middle:,.0f} in it + {opening.page.middle:,.0f} in the page"
        )
        title = f"{name} ({nodes:,} nodes)"
        rows.append(
            Row(title, total.best / base.best, total.middle / base.middle, figure, _aim(total.best, PAINT[name], "ms"))
        )
    floors = [f"{subject.opening.floor.best:,.0f}" for subject in subjects]
    scaled = [f"{subject.name} {subject.opening.total.best / slower():,.0f} ms" for subject in subjects]
    notes = (
        f"{FLOOR} is painted after {', '.join(floors)} ms.",
        f"Python takes {slower():.1f} times as long here as where the aims were set. Scaled: {', '.join(scaled)}.",
    )
    return Section("Widget: from running the cell to the first paint", FLOOR, tuple(rows), notes)


def _use(subjects: list[Subject]) -> Section:
    rows = []
    for name, nodes, size, _, hands in subjects:
        rows += [_frames(f"{name}: {what}", frames, hands.idle) for what, frames in hands.frames.items()]
        figure = f"median {hands.expand.middle:.1f} ms, slowest {hands.expand.worst:.1f} ms"
        rows.append(Row(f"{name}: expand one block", None, None, figure, _aim(hands.expand.middle, EXPAND, "ms")))
        figure = f"{hands.all:,.0f} ms, longest task {hands.longest_task:,.0f} ms"
        rows.append(Row(f"{name}: expand all", None, None, figure, _aim(hands.longest_task, TASK, "ms a task")))
        aim = _aim(size / nodes, BYTES, "bytes") if nodes >= LARGE else None
        rows.append(Row(f"{name}: payload", None, None, f"{size / nodes:.0f} bytes a node", aim))
    module = len(gzip.compress(asset("widget.js").encode(), 9))
    rows.append(Row("widget.js, gzipped", None, None, f"{module:,} bytes", _aim(module, MODULE, "bytes")))
    return Section("Widget: in use", IDLE, tuple(rows))


def _ten(page: Notebook) -> Section:
    started, painted = page.run(1, TEN, widgets=TEN)
    rows = [Row("until all are painted", None, None, f"{painted - started:,.0f} ms")]
    hands = Hands(page, several=True)
    rows += [_frames(what, frames, hands.idle) for what, frames in hands.frames.items()]
    return Section(f"Widget: {TEN} of GPT-2 small in one notebook", IDLE, tuple(rows))


def _others(subjects: list[Subject], browser) -> Section:
    rows, notes = [], []
    for name, _, _, opening, _ in subjects:
        floor = opening.total.best
        rows.append(Row(f"{name}: the widget", 1.0, None, f"{floor:,.0f} ms"))
        for other in (dot, torchvista):
            taken, label = other(name, browser)
            rows.append(Row(f"{name}: {other.__name__}", taken and taken / floor, None, label))
    notes.append("dot draws every node, but no edge to the optimizer's step: with those it takes minutes.")
    notes.append("torchvista traces the forward alone; its page is opened in the same browser.")
    return Section("Widget: beside other tools, on the same graph", "the widget", tuple(rows), tuple(notes))
