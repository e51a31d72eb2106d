"""From the end of the block to the report: how long it takes, and how large the report is."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import autograd_inspector

from .clock import Timing, interleaved, seconds
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import Subject, chain, clipped_training, training_step

GPT2_AIM, CHAIN_AIM, BYTES_AIM = 0.1, 2.0, 1_000
GROWTH_AIM = 3


class Ended(NamedTuple):
    """CPU time of the block, of leaving it, and of asking the report for its graph."""

    block: float
    end: float
    graph: float


def ended(work: Callable[[], object]) -> Ended:
    """Run a work inside the block."""
    inspection = autograd_inspector.inspect()
    inspection.__enter__()
    block = seconds(work)
    gc.collect()
    end = seconds(lambda: inspection.__exit__(None, None, None))
    return Ended(block, end, seconds(lambda: inspection.report.graph))


def measure(subject: Subject, *, quick: bool) -> Section:
    """A training step of the model (its first report, then later ones) and a long chain."""
    rounds, length = (3, 10_000) if quick else (5, 100_000)
    step, long = training_step(subject), chain(length)
    progress(f"from block end to report: {subject.name}")
    step()
    first = ended(step)
    rows = _rows(subject.name, step, GPT2_AIM, rounds, first)
    progress(f"from block end to report: {long.name}")
    rows += _rows(long.name, long.forward_backward, CHAIN_AIM * length / 100_000, rounds)
    rows.append(_growth(100 if quick else 400, rounds))
    progress(f"size of the report of {long.name}")
    rows += _sizes(long)
    return Section("From block end to report", "the plain block", tuple(rows))


def _rows(name: str, work: Callable[[], object], aim: float, rounds: int, first: Ended | None = None) -> list[Row]:
    graphs: list[float] = []

    def end() -> float:
        taken = ended(work)
        graphs.append(taken.graph)
        return taken.end

    timings = interleaved({"plain": lambda: seconds(work), "end": end}, rounds)
    plain, report = timings["plain"], timings["end"]
    graph = Timing(tuple(graphs[1:]))
    text = f"under {milliseconds(aim)}"
    rows = []
    if first is not None:
        taken = first.end
        rows.append(Row(f"{name}: first report", taken / plain.best, None, milliseconds(taken), Aim(text, taken < aim)))
    title = f"{name}: report" if first is None else f"{name}: later reports"
    met = Aim(text, report.best < aim)
    rows.append(Row(title, report.times(plain), report.typical(plain), milliseconds(report.best), met))
    rows.append(
        Row(f"{name}: its graph, on demand", graph.times(plain), graph.typical(plain), milliseconds(graph.best))
    )
    return rows


def _growth(layers: int, rounds: int) -> Row:
    """Rules look at every parameter of every step: of twice as many, in twice the time."""
    progress(f"from block end to report: {2 * layers:,} layers beside {layers:,}")
    works = {"one": clipped_training(layers), "two": clipped_training(2 * layers)}
    timings = interleaved({name: lambda work=work: ended(work).end for name, work in works.items()}, rounds)
    growth = timings["two"].best / timings["one"].best
    figure = f"{milliseconds(timings['two'].best)}, {growth:.1f} times that of {layers:,} layers"
    return Row(
        f"{2 * layers:,} layers, clipped", None, None, figure, Aim(f"under {GROWTH_AIM} times", growth < GROWTH_AIM)
    )


def _sizes(subject: Subject) -> list[Row]:
    """What the report still holds once everything else is gone."""
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    with autograd_inspector.inspect() as inspection:
        subject.forward_backward()
    report = inspection.report
    del inspection
    gc.collect()
    held = (tracemalloc.get_traced_memory()[0] - before) / subject.length
    assert report.graph.nodes
    gc.collect()
    graph = (tracemalloc.get_traced_memory()[0] - before) / subject.length
    tracemalloc.stop()
    aim = Aim(f"under {BYTES_AIM:,} bytes an op", held < BYTES_AIM)
    return [
        Row(f"{subject.name}: size of the report", None, None, f"{held:,.0f} bytes an op", aim),
        Row(f"{subject.name}: size with its graph", None, None, f"{graph:,.0f} bytes an op"),
    ]
