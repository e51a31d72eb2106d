"""A torch that lacks a private name: the program runs as without the inspector, and a report says what it lacks.

`make test` takes a share of the names away, of each package and kind at least one; `make thorough` all of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_inspector
from autograd_inspector.capture import existing, gathering, session  # noqa: F401 - what they import declares the names
from autograd_inspector.capture.torch_private import resolving
from tests.shares import share

pytestmark = [pytest.mark.undisturbed, pytest.mark.slow, pytest.mark.timeout(900)]

SCRIPT = Path(__file__).with_name("without_names.py")
WHOLE = {"torch._dynamo": "torch._dynamo.eval_frame:", "torch.distributed": "torch.distributed.tensor:", "": "torch:"}
"""Which run with all names another is compared with."""
BLIND = "torch.autograd:_engine_run_backward"
"""Without it nobody knows that a backward ran, and so not what it left out either.

And of a graph that exists already there is only what its nodes say of what they saved.
"""


def kinds(path):
    """In which package of torch's a name is, and what the inspector does without it."""
    name = resolving.TABLE[path]
    flags = ("needed", "without", "late", "of_objects")
    return [*path.partition(":")[0].split(".")[1:2], tuple(bool(getattr(name, flag)) for flag in flags), path == BLIND]


NAMES = share(sorted(resolving.TABLE), 4, kinds=kinds)


@pytest.fixture(scope="module")
def outcomes():
    """Path -> what happened without that name."""
    lines = "".join(json.dumps(path) + "\n" for path in (*WHOLE.values(), *NAMES))
    folder = Path(autograd_inspector.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    environment.pop("AUTOGRAD_INSPECTOR_STRICT", None)
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], input=lines, capture_output=True, text=True, check=False, env=environment
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(NAMES) + len(WHOLE), done.stderr
    return {each["path"]: each for each in found}


def whole_of(path, outcomes):
    """The run with all names that this one is compared with."""
    return outcomes[next(whole for start, whole in WHOLE.items() if path.startswith(start))]


@pytest.mark.parametrize("path", NAMES)
def test_the_program_runs_as_without_the_inspector(path, outcomes):
    """The same bits with and without values, its own error passes, nothing is raised by us."""
    found = outcomes[path]
    assert "raised" not in found, found["raised"]
    assert [found["reports"][how]["done"] for how in ("plain", "values")] == [found["wanted"]] * 2
    if "edited" in found["reports"]:
        assert found["reports"]["edited"]["done"] == "RuntimeError"


@pytest.mark.parametrize("path", NAMES)
def test_every_report_is_whole_or_names_what_is_missing(path, outcomes):
    """Where another name does the same, the report is equal to the last number; otherwise a note has the name."""
    name, whole = resolving.TABLE[path], whole_of(path, outcomes)["reports"]
    for kind, report in outcomes[path]["reports"].items():
        equal = report["whole"] == whole[kind]["whole"]
        if name.needed:
            assert name.name in report["stopped"]
        elif name.without:
            assert equal or any(name.name in note for note in report["notes"]), kind
        else:
            assert equal, kind


@pytest.mark.parametrize("path", NAMES)
def test_one_warning_says_that_nothing_can_be_observed_and_none_that_less_is(path, outcomes):
    """A note in the report is enough where the report has something to say."""
    for report in outcomes[path]["reports"].values():
        assert len(report.get("warnings", ())) == bool("warnings" in report and report["stopped"])


@pytest.mark.parametrize("path", NAMES)
def test_what_can_still_be_found_is_found_and_nothing_else(path, outcomes):
    """A missing name makes no finding, and hides none that rests on other observations."""
    whole = whole_of(path, outcomes)["reports"]
    for kind, report in outcomes[path]["reports"].items():
        blind = report["stopped"] or (path == BLIND and kind != "edited") or (kind == "graph" and report["notes"])
        assert set(report["findings"]) <= set(whole[kind]["findings"]), kind
        assert blind or set(report["findings"]) == set(whole[kind]["findings"]), kind


def test_the_faulty_programs_are_found_faulty_where_nothing_is_missing(outcomes):
    """The tests above compare with something."""
    whole = outcomes[WHOLE[""]]["reports"]
    assert whole["edited"]["findings"] == ["AG201"]
    assert whole["detached"]["findings"] == ["AG101"]
    assert not any(report["notes"] for report in (whole["plain"], whole["values"]))


def test_most_names_are_really_taken_away(outcomes):
    """Of those that torch itself gets along without, torch has none; of others only the inspector is told so."""
    assert sum(found["how"] == "deleted" for found in outcomes.values()) > len(NAMES) / 3
