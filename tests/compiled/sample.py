"""Which of the programs `make test` runs, and by which backend: of the healthy ones more than of the sick ones."""

from __future__ import annotations

import ast
from functools import cache
from typing import Final

from tests.compiled.score import PROGRAMS, names
from tests.practice.programs import written_truth
from tests.shares import share

HEALTHY: Final = 2
SICK: Final = 6
INDUCTOR: Final = 3
"""One in so many is drawn."""
SLOW = {"detach_in_encoder", "healthy_plain", "no_grad_block", "compiled_train_step_detach", "healthy_optimizer_step"}
"""Those that are also compiled by inductor, which takes seconds."""
Case = tuple[str, str]


def sampled() -> list[Case]:
    """Return pairs of a program and a backend; of each rule, exception and kind of truth at least one."""
    well = [name for name in names() if healthy(name)]
    sick = [name for name in names() if not healthy(name)]
    by_graphs = [(name, "aot_eager") for name in well]
    by_graphs += [(name, "eager") for name in well if not name.startswith("healthy")]
    faulty = [(name, backend) for backend in ("aot_eager", "eager") for name in sick]
    by_inductor = [(name, "inductor") for name in sorted(SLOW)]
    return [
        *share(by_graphs, HEALTHY, name="-".join, kinds=lambda case: [case[1]]),
        *share(faulty, SICK, name="-".join, kinds=kinds),
        *share(by_inductor, INDUCTOR, name="-".join, kinds=lambda case: [healthy(case[0])]),
    ]


def healthy(name: str) -> bool:
    """Whether nothing is to be told of a program."""
    written = declared(name)
    return written_truth(PROGRAMS / f"{name}.py").healthy if "TRUTH" in written else written.get("HEALTHY") == "True"


def kinds(case: Case) -> list[str]:
    """Return what a sick program is an example of: its first rule, and how its exception begins."""
    written = declared(case[0])
    if "TRUTH" in written:
        truth = written_truth(PROGRAMS / f"{case[0]}.py")
        return [*([f"raises {truth.raises[:30]}"] if truth.raises else []), f"values: {truth.values}"]
    rules = ast.literal_eval(written["RULES"]).split()
    return [rules[0], *(f"{name} = {written[name]}" for name in ("RAISES", "VALUES") if name in written)]


@cache
def declared(name: str) -> dict[str, str]:
    """Return the constants of a program as they are written: it is not run."""
    tree = ast.parse((PROGRAMS / f"{name}.py").read_text(encoding="utf-8"))
    given = [each for each in tree.body if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)]
    return {each.targets[0].id: ast.unparse(each.value) for each in given if each.targets[0].id.isupper()}
