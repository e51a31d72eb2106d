"""Fifty faults of all kinds (make thorough: a hundred): most are found and located, and what is none is left alone."""

import random

import pytest

from tests.shares import WHOLE

from .catalogue import PROGRAMS
from .operators import KINDS
from .scoring import mutants, originals, scores, unsafe
from .table import failures, table, unrepaired

COUNT, SEED = 100 if WHOLE else 50, 1
SAMPLED = 66 if WHOLE else 33
"""So many of the programs, others with each seed: what all of them cost is for ``make mutate``."""
FLOOR = 0.92
"""Just below the share that is located."""
REPAIRED = 0.78
"""Just below the share that the edits repair."""


def test_what_there_is():
    """At least 30 kinds of faults and 40 programs."""
    assert len(KINDS) >= 30
    assert len(PROGRAMS) >= 40


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_faults_of_all_kinds(tmp_path):
    """Of programs without a fault all are silent, and no safe edit changes them.

    Of the faults at least so many are located by a finding, and at least so many are repaired by the edits of the
    report; none gets worse by them.
    """
    sampled = random.Random(SEED).sample(sorted(PROGRAMS), SAMPLED)
    known = {each.name: each for each in originals(sampled, tmp_path, 2)}
    assert unsafe(known.values(), tmp_path) == []
    chosen = mutants(known.values(), KINDS, SEED)
    chosen = random.Random(SEED).sample(chosen, COUNT)
    done = list(scores(chosen, known, tmp_path, 2))
    told = "\n".join([*failures(done, known.values()), *table(done, known.values())])
    assert not [each.name for each in known.values() if each.loud], told
    faults = [each for each in done if not each.equivalent]
    assert sum(each.located for each in faults) >= FLOOR * len(faults), told
    told = "\n".join([*unrepaired(done), *table(done, known.values())])
    assert sum(each.repair.repaired for each in faults) >= REPAIRED * len(faults), told
    assert [(each.program, each.kind) for each in done if each.repair.worse] == [], told
