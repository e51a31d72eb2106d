"""Programs of two ranks: faults are told by rule, line and name, healthy ones and repaired ones are silent."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.distributed.repairs import REPAIRS
from tests.distributed.score import NOT_YET, every
from tests.fixes.sentences import stands_in, written
from tests.forked import python

from .ranks import IMPORTED

pytestmark = [
    pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed"),
    pytest.mark.slow,
    pytest.mark.timeout(1500),  # The first test waits for all programs.
]

ROOT = Path(__file__).parents[2]
PARTS = 3
"""Programs that hang leave the machine idle until gloo gives up: others run meanwhile."""
NOT_ADVICE = (
    "rules/ag603_uneven_work/rule.py: Parameter at index",  # what an error of torch looks like
    "rules/ag603_uneven_work/rule.py:  With static_graph=True",  # the end of a message
    "rules/ag604_same_data/rule.py: DistributedSampler returned the same order",  # a message
)


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Program -> what came of it, and what was said of it once it was repaired: `make test` repairs a share of them."""
    folder = tmp_path_factory.mktemp("ranks")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    running = []
    for part in range(PARTS):
        command = [*python(IMPORTED), "-m", "tests.distributed.score", "--sample", "--part", f"{part}/{PARTS}"]
        command += ["--json", str(folder / f"{part}.json")]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
    assert [each.wait() for each in running] == [0] * PARTS
    return {name: each for path in folder.iterdir() for name, each in json.loads(path.read_text()).items()}


@pytest.mark.parametrize("name", every())
def test_a_fault_is_told_by_rule_line_and_name(scores, name):
    """By the rank that can know it, alone or by comparison; healthy programs and repaired ones are silent.

    Exactly those aims are missed that are known to be: one that is reached by now is taken from the table.
    """
    assert (scores[name]["missed"], scores[name]["left"]) == (NOT_YET.get(name, "").split(), [])


def test_repairs_are_of_programs():
    """Each is one, and so is what is not told yet."""
    assert set(REPAIRS) | NOT_YET.keys() <= set(every())


def test_every_sentence_is_printed_for_a_program(scores):
    """A new fix needs a program that it is printed for."""
    printed = {fix for each in scores.values() for fix in each["fixes"]}
    sentences = {
        s: parts for s, parts in written().items() if s.startswith("rules/ag60") and not s.startswith(NOT_ADVICE)
    }
    left = [s for s, parts in sentences.items() if not any(stands_in(parts, text) for text in printed)]
    assert left == []
