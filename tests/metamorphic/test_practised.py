"""Programs of practice that are rewritten and do the same get the same findings."""

import os
import subprocess
from collections import Counter
from itertools import groupby
from operator import itemgetter

import pytest

from tests.forked import python
from tests.metamorphic import practised
from tests.practice.programs import name_of
from tests.shares import WHOLE

VARIANTS, SEED = 300 if WHOLE else 120, 1
IMPORTED = ("torch", "transformers", "peft", "accelerate", "lightning")
"""Each fork would import them anew."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_rewritten_programs_of_practice_get_the_same_findings():
    """Rule, severity and culprit, whatever names, comments, looks and blocks are added."""
    command = [*python(IMPORTED), "-m", "tests.metamorphic.practised", "--count", str(VARIANTS), "--seed", str(SEED)]
    done = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1:] == [f"{VARIANTS} variants, 0 differences"], done.stdout + done.stderr


def test_variants_are_drawn_evenly():
    """As many as asked for, a program's after each other, others with another seed."""
    pairs = practised.drawn(100, 1)
    assert len(pairs) == 100
    counts = [(source, len(list(group))) for source, group in groupby(pairs, key=itemgetter(0))]
    assert len(counts) == len({source for source, _ in pairs})
    left_out = Counter(name for name, _ in practised.ANOTHER_PROGRAM)
    assert all(0 <= practised.EACH - count <= left_out[name_of(source)] for source, count in counts[:-1])
    assert counts[-1][1] <= practised.EACH  # What is left of the number that was asked for.
    assert pairs == practised.drawn(100, 1) != practised.drawn(100, 2)


def test_a_program_that_does_something_else_is_a_difference(tmp_path, monkeypatch):
    """The comparison sees where a rewritten program clears no gradients."""
    rewritten = practised.rewritten

    def spoiled(source, kind, tests, random):
        text, lines = rewritten(source, kind, tests, random)
        return text.replace("optimizer.zero_grad()", "len(())") if kind == "comments" else text, lines

    monkeypatch.setattr(practised, "rewritten", spoiled)
    (source,) = {source for source, _ in practised.drawn(5, SEED, ["graphs/link_prediction"])}
    kinds = ("laid out anew", "comments")
    same, other = practised.differences([(source, kind) for kind in kinds], SEED, tmp_path)
    assert same is None
    assert {rule for rule, *_ in other.after - other.before} == {"AG305"}
