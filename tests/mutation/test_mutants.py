"""A hundred faults of all kinds: most are found and located, and what is none is left alone."""

import random

import pytest

from .catalogue import PROGRAMS
from .operators import KINDS
from .scoring import mutants, originals, scores
from .table import failures, table

COUNT, SEED = 100, 1
FLOOR = 0.84
"""Just below the share that is located."""


def test_what_there_is():
    """At least 30 kinds of faults and 40 programs."""
    assert len(KINDS) >= 30
    assert len(PROGRAMS) >= 40


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_mutants(tmp_path):
    """Every program without a fault is silent; of the faults at least so many are located by a finding."""
    known = {each.name: each for each in originals(PROGRAMS, tmp_path, 2)}
    chosen = mutants(known.values(), KINDS, SEED)
    chosen = random.Random(SEED).sample(chosen, COUNT)
    done = list(scores(chosen, known, tmp_path, 2))
    told = "\n".join([*failures(done, known.values()), *table(done, known.values())])
    assert not [each.name for each in known.values() if each.loud], told
    faults = [each for each in done if not each.equivalent]
    assert sum(each.located for each in faults) >= FLOOR * len(faults), told
