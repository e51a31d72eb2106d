"""Applies the edits of the reports to the programs: `python -m tests.practice.repair [-v] [NAME...]`.

Each program runs once in a block, in a fork; then its text with `report.patched()` runs in another one. Of a sick
program: `offered`, the report changes its file (with the edits of its infos, where the truth says that the fault is
minor); `compiles`, what it gives is Python; `harmless`, it raises nothing where the program did not raise; `cured`, the
patched program no longer shows the symptom; `quiet`, and fewer errors and warnings are told, none of them new. Of a
healthy one: `compiles` as well, and `same`, no edit that is called safe, be it of an info, changes how it ends.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from autograd_inspector import inspect
from tests.mutation.running import warm
from tests.practice.programs import as_described, loaded, name_of, truth_of, written_truth
from tests.practice.score import LIMIT, LOUD, Score, chosen, table
from tests.practice.truth import Truth


@dataclass(frozen=True)
class Seen:
    """What a run showed: whether the symptom is there, what was told, and the new text."""

    symptom: bool
    loud: tuple[str, ...] = ()
    patched: str = ""
    safe: str = ""
    fault: str = ""


def seen(source: Path, text: str | None = None) -> Seen:
    """Run a program, or another text of it, in a block."""
    if text is not None:
        folder = Path(tempfile.mkdtemp())
        source = folder / source.name
        source.write_text(text, encoding="utf-8")
    module = loaded(source)
    truth = truth_of(module)
    if hasattr(module, "setup"):
        module.setup()
    outcome: object
    try:
        with inspect(values=truth.values) as inspection:
            outcome = module.run()
    except Exception as error:
        outcome = error
    report = inspection.report
    every = tuple(finding.rule for finding in report.findings)
    return Seen(
        _shows(module, truth, outcome),
        tuple(sorted(finding.rule for finding in report.findings if finding.severity in LOUD)),
        report.patched(every if truth.minor or truth.healthy else None).get(str(source), ""),
        report.patched(every, unsafe=False).get(str(source), ""),
        repr(outcome)[:200] if isinstance(outcome, Exception) else "",
    )


def _shows(module, truth: Truth, outcome: object) -> bool:
    if isinstance(outcome, Exception):
        return True  # Another exception than before is no cure either.
    return not truth.raises and not as_described(module, outcome)


def repaired(source: Path) -> Score:
    """Whether the edits that are offered cure a program."""
    truth = written_truth(source)
    first = _forked(source)
    if truth.healthy:
        same = {"same": _forked(source, first.safe).symptom == first.symptom} if first.safe else {}
        return Score({"compiles": compiles(first.patched)} | same)
    second = _forked(source, first.patched) if first.patched else None
    said = [f"told {[*first.loud]}", *([f"then {[*second.loud]} {second.fault}"] if second else [])]
    return Score(judged(first, second), said)


def judged(first: Seen, second: Seen | None) -> dict[str, bool]:
    """Aim -> whether the patched program reaches it; None: nothing was offered."""
    cured = second is not None and not second.symptom
    then, now = Counter(first.loud), Counter(second.loud if second is not None else ())
    return {
        "offered": second is not None,
        "compiles": compiles(first.patched),
        "harmless": second is None or not second.fault or bool(first.fault),
        "cured": cured,
        "quiet": cured and now <= then and (now != then or not then),
    }


def compiles(text: str) -> bool:
    """Whether a text is Python."""
    try:
        compile(text, "<patched>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _forked(source: Path, text: str | None = None) -> Seen:
    forks = multiprocessing.get_context("fork")
    receiver, sender = forks.Pipe(duplex=False)
    child = forks.Process(target=_send, args=(source, text, sender))
    child.start()
    sender.close()
    nothing = Seen(symptom=True, fault="the process died, or does not end")
    try:
        answer = receiver.recv() if receiver.poll(LIMIT) else nothing
    except EOFError:
        answer = nothing
    child.kill()
    child.join()
    return answer


def _send(source: Path, text: str | None, sender) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    warnings.simplefilter("ignore")
    try:
        sender.send(seen(source, text))
    except BaseException as error:
        sender.send(Seen(symptom=True, fault=f"{error!r}"))


def main(arguments: list[str]) -> int:
    """Repair the programs that are named (all, without a name) and print what is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of programs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the sick programs only each Nth")
    parser.add_argument("--healthy", action="store_true", help="only the healthy programs")
    parser.add_argument("--json", help="write the scores to this file")
    parser.add_argument("-v", action="store_true", help="print what is told of every program")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warm([])
    gc.collect()
    gc.freeze()
    scores: dict[str, Score] = {}
    for source in chosen(options.names, options.every):
        if options.healthy and not written_truth(source).healthy:
            continue
        each = scores[name_of(source)] = repaired(source)
        if each.missed or options.v:
            print(name_of(source), "misses:" if each.missed else "", *each.missed, "|", *each.said)
    print(table(scores.values()))
    if options.json:
        Path(options.json).write_text(json.dumps({name: asdict(each) for name, each in scores.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
