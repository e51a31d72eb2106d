"""The share of a corpus that runs is the same every time, and has one of each kind."""

from __future__ import annotations

from tests.shares import share

NAMES = [f"field/program_{number}" for number in range(300)]


def test_about_so_many_are_drawn_and_their_order_is_kept():
    """One in five of 300 is about 60."""
    drawn = share(NAMES, 5, whole=False)
    assert 40 < len(drawn) < 80
    assert drawn == [name for name in NAMES if name in drawn]
    assert drawn == share(NAMES, 5, whole=False)


def test_a_new_case_leaves_the_others_as_they_are():
    """What is drawn does not depend on which other cases there are."""
    more = share(["another", *NAMES, "one more"], 5, whole=False)
    assert [name for name in more if name in NAMES] == share(NAMES, 5, whole=False)


def test_every_kind_is_there():
    """A kind that only one case has brings that case, and no kind brings more cases than it needs."""
    only = next(name for name in NAMES if name not in share(NAMES, 5, whole=False))
    drawn = share(NAMES, 5, kinds=lambda name: ["rare"] if name == only else ["common"], whole=False)
    assert set(drawn) - set(share(NAMES, 5, whole=False)) == {only}


def test_the_whole_corpus():
    """Where all is asked for, nothing is left out."""
    assert share(NAMES, 5, whole=True) == NAMES
