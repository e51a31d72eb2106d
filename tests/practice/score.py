"""Scores the inspector on the programs: `python -m tests.practice.score [-v] [NAME...]`.

Each program runs once in a block, in a fork. Of a sick one: `found`, an error or a warning is told (an info, where
its truth says that the fault is minor); `located`, one of these names a line that is marked; `first`, the first of
them does; `named`, one that is located mentions every name of the truth. `answered`, each has an edit or says why it
has none. Of a healthy one: `silent`, no error, no warning. Of all: `undisturbed`, it ends as its truth says.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from autograd_inspector import Report, inspect
from autograd_inspector.capture.forking import settle
from autograd_inspector.model.finding import Finding
from tests.mutation.running import warm
from tests.practice.programs import as_described, every, loaded, name_of, truth_of, written_truth
from tests.practice.sample import sampled
from tests.practice.truth import ALSO, CAUSE, Truth, marked

LOUD = ("error", "warning")
LIMIT = 120
"""Seconds that a program may take."""


@dataclass(frozen=True)
class Score:
    """What came of one program: aim -> whether it is reached, and what was said."""

    reached: dict[str, bool]
    said: list[str] = field(default_factory=list)
    fault: str = ""

    @property
    def missed(self) -> list[str]:
        """The aims that are not reached."""
        return [aim for aim, reached in self.reached.items() if not reached]


def score(source: Path) -> Score:
    """Run a program in a block and score what is told of it."""
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
    fault = as_described(module, outcome)
    reached = {"undisturbed": not fault} | told(source, truth, report)
    if not truth.healthy:
        loud = (finding for finding in report.findings if finding.severity in LOUD)
        reached["answered"] = all(finding.edits or finding.unedited for finding in loud)
    return Score(reached, [line for finding in report.findings for line in described(finding, source)], fault)


def told(source: Path, truth: Truth, report: Report) -> dict[str, bool]:
    """Aim -> whether the report reaches it."""
    loud = [finding for finding in report.findings if finding.severity in LOUD]
    if truth.healthy:
        return {"silent": not loud}
    heard = report.findings if truth.minor else loud
    hits = [finding for finding in heard if truth.before or names_the_lines(finding, source, truth)]
    return {
        "found": bool(heard),
        "located": bool(hits),
        "first": bool(hits) and hits[0] == heard[0],
        "named": any(all(name.lower() in text_of(finding) for name in truth.names) for finding in hits),
    }


def names_the_lines(finding: Finding, source: Path, truth: Truth) -> bool:
    """Whether a finding names the lines where the fault was made: any of them, or every one, as the truth asks."""
    here = [location for location in finding.locations if location.filename == str(source)]
    named = {line for place in here for line in range(place.lineno, max(place.end_lineno, place.lineno) + 1)}
    causes = set(marked(source, CAUSE))
    return causes <= named if truth.every_line else bool(named & (causes | set(marked(source, ALSO))))


def text_of(finding: Finding) -> str:
    """All that a reader of the finding sees, in small letters."""
    parts = [finding.message, finding.fix, *finding.subjects, *finding.details]
    return "\n".join([*parts, *(location.source or "" for location in finding.locations)]).lower()


def described(finding: Finding, source: Path) -> list[str]:
    """A finding in a few lines of a terminal."""
    lines = [location.lineno for location in finding.locations if location.filename == str(source)]
    return [f"{finding.rule} {finding.severity} at {lines}: {finding.message}", f"    fix: {finding.fix}"]


def scored(source: Path) -> Score:
    """The score of a program that runs in a fork."""
    forks = multiprocessing.get_context("fork")
    receiver, sender = forks.Pipe(duplex=False)
    child = forks.Process(target=_send, args=(source, sender))
    child.start()
    sender.close()
    try:
        answer = receiver.recv() if receiver.poll(LIMIT) else Score({"undisturbed": False}, fault="does not end")
    except EOFError:
        answer = Score({"undisturbed": False}, fault="the process died")
    child.kill()
    child.join()
    return answer


def _send(source: Path, sender) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    warnings.simplefilter("ignore")
    settle()
    try:
        sender.send(score(source))
    except BaseException as error:  # a program that cannot be scored is a fault of its own
        sender.send(Score({"undisturbed": False}, fault=f"{error!r}"))


def table(scores: Iterable[Score]) -> str:
    """Reached of all, an aim a line."""
    scores = list(scores)
    reached = Counter(aim for each in scores for aim, yes in each.reached.items() if yes)
    of = Counter(aim for each in scores for aim in each.reached)
    return "\n".join(f"{aim:12} {reached[aim]} of {count}" for aim, count in of.items())


def chosen(names: list[str], nth: int) -> list[Path]:
    """The programs that one of the names is part of (all, without a name); of the sick ones each ``nth``."""
    sources = [source for source in every() if not names or any(part in name_of(source) for part in names)]
    sick = [source for source in sources if not written_truth(source).healthy]
    left_out = set(sick).difference(sick[::nth])
    return [source for source in sources if source not in left_out]


def main(arguments: list[str]) -> int:
    """Score the programs that are named (all, without a name) and print what is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of programs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the sick programs only each Nth")
    parser.add_argument("--sample", action="store_true", help="only those that `make test` runs")
    parser.add_argument("--json", help="write the scores to this file")
    parser.add_argument("-v", action="store_true", help="print what is told of every program")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # Threads of a pool are not there in a fork, which would wait for them.
    warm([])
    gc.collect()
    gc.freeze()  # A fork that collects would copy all that is there.
    scores: dict[str, Score] = {}
    for source in sampled() if options.sample else chosen(options.names, options.every):
        name = name_of(source)
        each = scores[name] = scored(source)
        if each.missed or options.v:
            print(name, "misses:" if each.missed else "", *each.missed, each.fault)
            for line in each.said:
                print("   ", line)
    print(table(scores.values()))
    if options.json:
        Path(options.json).write_text(json.dumps({name: asdict(each) for name, each in scores.items()}))
    return int(any(each.missed for each in scores.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
