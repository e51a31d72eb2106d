"""The reports of 1,024 ranks as one; how long that takes is measured by `tests/benchmarks/many_ranks.py`."""

from collections import Counter

import pytest

from autograd_inspector.api.ranks import merged_parts

from .many import RANKS, sent

LAYERS = 12
ROWS = 2 * LAYERS


def shares(merged) -> int:
    """How many records of shares there are: ranks that hold the same have one."""
    return len({id(share) for row in merged.placement.rows for share in row.shares})


@pytest.mark.parametrize(("how", "differing", "kept"), [("alike", 0, 1), ("rate", ROWS, 1), ("device", 0, 8)])
def test_ranks_have_a_column_each_and_what_they_share_is_kept_once(how, differing, kept):
    """Each parameter has an entry a rank; of eight devices there are eight shares of each, however many ranks."""
    merged = merged_parts(sent(LAYERS, how))
    assert (len(merged.placement.rows), merged.placement.ranks) == (ROWS, tuple(range(RANKS)))
    assert {len(row.shares) for row in merged.placement.rows} == {RANKS}
    assert len(merged.placement.differing) == differing
    assert shares(merged) == kept * ROWS
    assert {total.parameters for total in merged.placement.totals} == {LAYERS * (16 + 4) * 4}


def test_each_rank_has_a_learning_rate_of_its_own():
    """All 1,024 values are told, with the rank that has each."""
    row = merged_parts(sent(LAYERS, "rate")).placement.rows[0]
    (difference,) = row.differences
    assert difference.what == "lr"
    assert dict(difference.values)["0.0512"] == (511,)
    assert len(difference.values) == RANKS


def test_each_rank_froze_another_parameter():
    """Where every rank differs in another row, each row names the ranks that are alone in it."""
    merged = merged_parts(sent(LAYERS, "frozen"))
    for number, row in enumerate(merged.placement.rows):
        (difference,) = row.differences
        assert difference.what == "requires_grad"
        assert difference.values[1] == ("False", tuple(range(number, RANKS, ROWS)))
        assert Counter(share.requires_grad for share in row.shares)[False] == len(difference.values[1][1])
    assert shares(merged) == 2 * ROWS
