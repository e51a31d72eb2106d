"""One program of one length, in a process of its own: what recording it took, closing the block, and the report.

``python -m tests.benchmarks.growing PROGRAM OPS`` prints the figures as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import warnings
from collections.abc import Callable

import torch
from msgspec import Struct

import autograd_inspector
from tests.growth import programs

from .clock import seconds

Make = Callable[[int], programs.Program]
Figures = dict[str, float]

LINES = 256
PROGRAMS: dict[str, Make] = {
    "one chain": programs.chain,
    "a backward every 10 ops": lambda ops: programs.backwards(ops, 10),
    "a backward every 1,000 ops": lambda ops: programs.backwards(ops, 1_000),
    "gradient accumulation, a step every 32": programs.accumulation,
    "gradient accumulation, one step": lambda ops: programs.accumulation(ops, steps=False),
    "SGD written by hand": programs.by_hand,
    "L = L + (x.detach() * x).sum()": programs.summed,
    "MAML, inner loops of five": programs.unrolled,
    "MAML, one growing graph": programs.unrolled_once,
    f"{LINES} lines of methods with the same names": lambda ops: programs.same_named(ops, LINES // 3),
}
ENOUGH = 300_000
"""Ops of all rounds, after which no more are needed: a longer program is disturbed less."""


def measure(make: Make, ops: int) -> Figures:
    """CPU seconds of the best round: the block without us, with us, and from its end until the report was read.

    The garbage collector is off in all of them: in a short program it never runs, and in a long one it runs as often
    as what is alive makes it, the program's own as well as ours. And bytes: what the report holds until it is read, and
    once it was read in every form, and its JSON.
    """
    rounds: dict[str, list[float]] = {}
    for _ in range(max(1, min(10, ENOUGH // ops))):
        for name, figure in _round(make, ops).items():
            rounds.setdefault(name, []).append(figure)
    return {name: min(figures) for name, figures in rounds.items()}


def _round(make: Make, ops: int) -> Figures:
    gc.collect()
    gc.disable()
    try:
        plain = seconds(make(ops))
        program = make(ops)
        gc.collect()
        inspection = autograd_inspector.inspect()
        inspection.__enter__()
        figures = {"plain": plain, "block": seconds(program)}
        figures["close"] = seconds(lambda: inspection.__exit__(None, None, None))
        report, texts = inspection.report, []
        figures["rest"] = size(report)
        figures["json"] = seconds(lambda: texts.append(report.to_json()))
        figures["text"] = seconds(report.to_text)
        return figures | {"held": size(report), "written": len(texts[0].encode())}
    finally:
        gc.enable()


def size(root: object) -> int:
    """Bytes of a record and of all that it holds, each object once."""
    seen: set[int] = set()
    left, total = [root], 0
    while left:
        thing = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        if isinstance(thing, Struct):
            left += [getattr(thing, name) for name in thing.__struct_fields__]
            left += [vars(thing)] if hasattr(thing, "__dict__") else []
        elif isinstance(thing, dict):
            left += [*thing, *thing.values()]
        elif isinstance(thing, (tuple, list, set, frozenset)):
            left += thing
        elif type(thing).__module__.startswith(autograd_inspector.__name__):
            left += [vars(thing)]
    return total


def main() -> None:
    """Print the figures of one program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("ops", type=int)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    make = PROGRAMS[arguments.program]
    measure(make, 100)  # Imports, and what is made once a process.
    print(json.dumps(measure(make, arguments.ops)))


if __name__ == "__main__":
    main()
