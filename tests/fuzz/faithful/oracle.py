"""What must hold: the program cannot tell that it is inspected, and its report can be read."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

from autograd_inspector import Report

from .prelude import DEFINITIONS, IMPORTS, VALUES
from .running import run
from .statement import Program, source_of

TRIED: Counter[str] = Counter()
_numbers = count(1_000_000)


class Difference(AssertionError):
    """A program that is not the same under the inspector."""


def check(program: Program) -> None:
    """Run it plainly and inspected, and compare; raises Difference."""
    number = next(_numbers)
    plain, inspected = run(program, inspected=False, number=number), run(program, inspected=True, number=number)
    TRIED["programs"] += 1
    TRIED["with values=True"] += program.values
    TRIED["that raised"] += bool(plain.error)
    TRIED["that warned"] += bool(plain.warned)
    TRIED.update(f"with {kind}" for kind in program.kinds())
    before, after = plain.seen(), inspected.seen()
    for name in before | after:
        if before.get(name) != after.get(name):
            raise Difference(f"{name} differs: {_apart(before.get(name), after.get(name))}\n\n{runnable(program)}")
    report = inspected.report
    assert report is not None
    if report.capture.stopped:
        raise Difference(f"recording stopped: {report.capture.stopped}\n\n{runnable(program)}")
    report.to_text()
    if Report.from_json(report.to_json()).to_json() != report.to_json():
        raise Difference(f"the report that is read back is another\n\n{runnable(program)}")


def _apart(plain: Any, inspected: Any) -> str:
    """Only what differs of two dictionaries or lists."""
    if isinstance(plain, dict) and isinstance(inspected, dict):
        keys = [key for key in plain | inspected if plain.get(key) != inspected.get(key)]
        return ", ".join(f"{key}: {_apart(plain.get(key), inspected.get(key))}" for key in keys[:5])
    if isinstance(plain, list) and isinstance(inspected, list):
        at = next((i for i, (a, b) in enumerate(zip(plain, inspected, strict=False)) if a != b), -1)
        at = min(len(plain), len(inspected)) if at < 0 else at
        if max(at, 0) < min(len(plain), len(inspected)) and isinstance(plain[at], dict):
            return f"[{at}] {_apart(plain[at], inspected[at])}"
        return f"[{at}] plain {plain[at : at + 2]}, inspected {inspected[at : at + 2]} ({len(plain)}, {len(inspected)})"
    return f"plain {plain!r}, inspected {inspected!r}"


def runnable(program: Program) -> str:
    """The program as a script: `python it.py` runs it plainly, `python it.py i` inspected."""
    before, inside, after = (source_of(part) for part in program.parts())
    indented = "    " + inside.rstrip().replace("\n", "\n    ")
    return (
        f"{IMPORTS}import contextlib, sys, autograd_inspector\ntorch.set_warn_always(True)\n"
        "log, held, held_generators = [], [], []\nprobe = exhausted = lambda: None\n"
        "told = lambda found: [(str(w.message), w.filename, w.lineno) for w in found]\nlines_of = lambda error: []\n"
        f"{DEFINITIONS}\ntorch.manual_seed(3)\n" + "\n".join(VALUES) + f"\ntorch.manual_seed(7)\n{before}"
        f"with autograd_inspector.inspect(values={program.values}) if sys.argv[1:] else contextlib.nullcontext():\n"
        f"{indented}\n{after}print(log)\n"
    )
