"""Measure everything in one run, print it as tables, and name each aim that was missed."""

from __future__ import annotations

import argparse
import os
import warnings

import torch

from . import (
    comparison,
    compiled,
    ending,
    floors,
    growth,
    inference,
    long,
    many_ranks,
    placement,
    recording,
    replicas,
    small_steps,
    stepping,
    training,
    widget,
)
from .display import Section, console, show, summary
from .workloads import chain, gpt2, t5

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
"""Of the programs whose growth is measured: all of them only when nothing else is."""
BACKENDS = ("aot_eager", "inductor")
PEER_CHAIN = 800
"""Short, because torchviz descends recursively and meets Python's limit at about 1,000."""


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter chains, shallower models, fewer rounds")
    parts = ["compiled", "floors", "growth", "long", "peers", "replicas", "steps", "stepping", "widget"]
    parser.add_argument("--only", choices=parts, help="one part alone")
    parser.add_argument("--device", default="cpu", help="where the small steps run; on cuda, wall time counts")
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # CPU time of one thread is what the clock reads.
    torch.manual_seed(0)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    console.print(
        f"torch {torch.__version__}, one thread of {os.cpu_count()}, load {load:.1f}; CPU time; "
        "ratios of best rounds, and the median of neighbouring rounds"
    )
    sections: list[Section] = []

    def add(*measured: Section) -> None:
        for section in measured:
            show(section)
        sections.extend(measured)

    if arguments.only == "widget":
        for section in widget.measure(quick=quick):
            add(section)
        summary(sections)
        return
    if arguments.only == "steps":
        add(small_steps.measure(quick=quick, device=arguments.device))
        summary(sections)
        return
    if arguments.only == "floors":
        for section in floors.measure(quick=quick):
            add(section)
        summary(sections)
        return
    if arguments.only == "peers":
        add(*comparison.measure((gpt2(quick=quick), chain(PEER_CHAIN)), rounds=2 if quick else 3))
        summary(sections)
        return
    if arguments.only == "compiled":
        for backend in BACKENDS:
            add(compiled.measure(gpt2(quick=quick), backend, quick=quick))
        add(compiled.idle(gpt2(quick=quick), quick=quick))
        summary(sections)
        return
    if arguments.only == "stepping":
        add(stepping.measure(gpt2(quick=quick, narrow=True), quick=quick))
        summary(sections)
        return
    if arguments.only == "replicas":
        add(replicas.measure(gpt2(quick=quick), quick=quick))
        add(many_ranks.measure(quick=quick))
        summary(sections)
        return
    if arguments.only == "growth":
        for section in growth.measure(lengths=LENGTHS[:3] if quick else LENGTHS):
            add(section)
        summary(sections)
        return
    if arguments.only == "long":
        add(long.memory(quick=quick))
        add(long.overhead(gpt2(quick=quick), gpt2(quick=quick, narrow=True), quick=quick))
        summary(sections)
        return
    add(recording.measure(quick=quick))
    add(small_steps.measure(quick=quick, device=arguments.device))
    for section in floors.measure(quick=quick):
        add(section)
    add(inference.measure(quick=quick))
    add(placement.measure(quick=quick))
    model = gpt2(quick=quick)
    add(ending.measure(model, quick=quick))
    add(training.measure(model, gpt2(quick=quick, narrow=True), quick=quick))
    add(replicas.measure(gpt2(quick=quick), quick=quick))
    add(many_ranks.measure(quick=quick))
    for backend in BACKENDS:
        add(compiled.measure(model, backend, quick=quick))
    add(compiled.idle(model, quick=quick))
    add(long.memory(quick=quick))
    add(long.overhead(model, gpt2(quick=quick, narrow=True), quick=quick))
    add(stepping.measure(gpt2(quick=quick, narrow=True), quick=quick))
    add(training.measure(t5(quick=quick), t5(quick=quick, narrow=True), quick=quick))
    for section in growth.measure(lengths=LENGTHS[:2] if quick else LENGTHS[:3]):
        add(section)
    for section in widget.measure(quick=quick):
        add(section)
    add(*comparison.measure((model, chain(PEER_CHAIN)), rounds=2 if quick else 3))
    summary(sections)


if __name__ == "__main__":
    main()
