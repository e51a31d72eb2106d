"""Runs tests of the rules as they are and rewritten, and tells where a report says something else.

What a test asserts is of no interest here, only what was said of the programs in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from . import recording
from .placing import NEW
from .rewriting import KINDS, ORIGINAL, rewritten

RULES = Path(__file__).parents[1] / "rules"
TRIED: Counter[str] = Counter()
EACH = 5
"""So many variants of each test that is drawn: the original is run once for all of them."""
Test = tuple[str, str]
"""Module and function."""
Verdict = tuple[str, str, str, int]
"""Rule, severity, file, line of the culprit's statement in the original."""
ANOTHER_PROGRAM = {
    # The variable that had the value last is named first: the rewriting makes a later one.
    ("test_an_average_that_a_function_returns_to_a_name", "results returned by name"),
    # Which statement makes state of another size is read off the text, in which the function's name is not there then.
    ("test_points_added_without_all_of_their_state", "calls from a table"),
}
"""(Test, kind) of which the rewritten program is another one for a reader, or its culprit is located by its text."""
Said = dict[tuple[str, str], dict[str, list[list[Verdict]]]]
"""(Kind, module::function) -> case of the test -> what each of its reports says."""


@dataclass(frozen=True)
class Difference:
    """A report that says something else of the same program."""

    kind: str
    test: str
    before: Counter[Verdict]
    after: Counter[Verdict]

    def __str__(self) -> str:
        gone, come = self.before - self.after, self.after - self.before
        return f"{self.kind}: {self.test}: no longer {sorted(gone.elements())}, but {sorted(come.elements())}"


class Differs(AssertionError):
    """Reports that say something else of the same program."""


@dataclass(frozen=True)
class Outcome:
    """Of so many variants: how many of their reports there were to compare, those not reached, what differs."""

    variants: int
    compared: int
    reports: int
    missing: tuple[str, ...]
    differences: tuple[Difference, ...]


def of_modules(pattern: str) -> list[Test]:
    """The tests in the modules of that name."""
    return [
        (module.name, name)
        for module in sorted(RULES.glob(pattern))
        for name in re.findall(r"^def (test_\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def drawn(count: int, seed: int) -> dict[str, list[Test]]:
    """Kind -> tests: so many pairs of the two, all tests equally often."""
    random = Random(seed)
    tests = of_modules("test_*.py")
    random.shuffle(tests)
    pairs = [(test, kind) for test in tests[: -(-count // EACH)] for kind in _kinds(test, random.sample(KINDS, EACH))]
    return {kind: [test for test, other in pairs[:count] if other == kind] for kind in KINDS}


def _kinds(test: Test, sample: list[str]) -> list[str]:
    """Those that were drawn, with others in the place of those that make another program."""
    others = [kind for kind in KINDS if kind not in sample]
    unfit = [place for place, kind in enumerate(sample) if (test[1], kind) in ANOTHER_PROGRAM]
    for place, kind in zip(unfit, others, strict=False):
        sample[place] = kind
    return sample


def compared(folder: Path, variants: Mapping[str, list[Test]], seed: int) -> Outcome:
    """Run the tests as they are and in their variants, from a copy in ``folder``, in one process."""
    originals = sorted({test for tests in variants.values() for test in tests})
    reports_by_test = _said(folder, {ORIGINAL: originals, **variants}, seed)
    differences: list[Difference] = []
    missing: list[str] = []
    whole = reports = 0
    for kind, tests in variants.items():
        for test in ("::".join(test) for test in tests):
            before, after = reports_by_test.get((ORIGINAL, test), {}), reports_by_test.get((kind, test), {})
            short = [case for case, said_of in before.items() if len(after.get(case, ())) < len(said_of)]
            missing += [f"{kind}: {test}{case}" for case in short]
            whole += bool(before) and not short
            for case, reports_of in before.items():
                reports += len(reports_of)
                for one, other in zip(reports_of, after.get(case, ()), strict=False):
                    if Counter(one) != Counter(other):
                        differences.append(Difference(kind, test + case, Counter(one), Counter(other)))
    return Outcome(sum(map(len, variants.values())), whole, reports, tuple(missing), tuple(differences))


def search(seed: int, count: int) -> None:
    """Compare so many variants, others with each seed; raises Differs."""
    with TemporaryDirectory() as folder:
        outcome = compared(Path(folder), drawn(count, seed), seed)
    TRIED.update(variants=outcome.variants, compared=outcome.compared, reports=outcome.reports)
    if outcome.differences:
        raise Differs("\n".join(map(str, outcome.differences)))


def _said(folder: Path, variants: Mapping[str, Iterable[Test]], seed: int) -> Said:
    place = folder / "tests" / "rules"
    shutil.copytree(RULES, place, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests" / "__init__.py").touch()
    modules: dict[str, tuple[str, str, dict[int, int]]] = {}
    nodes: list[str] = []
    for kind, tests in variants.items():
        chosen: dict[str, list[str]] = {}
        for module, name in tests:
            chosen.setdefault(module, []).append(name)
        for module, names in chosen.items():
            name = module if kind == ORIGINAL else f"{module.removesuffix('.py')}__{kind.replace(' ', '_')}.py"
            text = (RULES / module).read_text(encoding="utf-8")
            source, lines = rewritten(text, kind, names, Random(f"{seed} {kind} {module}"))
            (place / name).write_text(source, encoding="utf-8")
            modules[name] = kind, module, lines
            nodes += [f"tests/rules/{name}::{each}" for each in names]
    reports_by_test: Said = {}
    for entry in _run(folder, nodes):
        module, _, test = entry["test"].partition("::")
        kind, original, _ = modules[module]
        name, bracket, case = test.partition("[")
        reports = [[placed(verdict, modules) for verdict in report] for report in entry["said"]]
        if reports:
            reports_by_test.setdefault((kind, f"{original}::{name}"), {})[bracket + case] = reports
    return reports_by_test


def _run(folder: Path, nodes: list[str]) -> list[dict[str, str]]:
    out = folder / "said"
    out.touch()
    shutil.copy(Path(recording.__file__), folder / "metamorphic_recording.py")
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        recording.OUT: str(out),
        "PYTHONPATH": os.pathsep.join((str(folder), str(root))),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "metamorphic_recording", "-p", "no:cacheprovider", "--tb=no"]
    (folder / "nodes").write_text("\n".join(["--assert=plain", *nodes]), encoding="utf-8")
    subprocess.run([*command, "@nodes"], cwd=folder, env=environment, capture_output=True, check=False)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def placed(verdict: Sequence[str], modules: Mapping[str, tuple[str, str, Mapping[int, int]]]) -> Verdict:
    rule, severity, file, line = verdict
    if file not in modules:
        return rule, severity, file, int(line)
    _, original, lines = modules[file]
    return rule, severity, original, lines.get(int(line), NEW)
