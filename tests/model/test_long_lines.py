from __future__ import annotations

from autograd_inspector.model.long_lines import cut_around, cut_changes

TABLE = f'table = """{"x" * 500}"""'
LINE = f"{TABLE}; y = (x.detach() * 2).sum(); rest = {list(range(100))}"


def test_a_short_line_stays():
    """Nothing is cut from what there is room for."""
    assert cut_around("h += 1.0", "h") == "h += 1.0"
    assert cut_changes([" a = 1", "-b = 2", "+b = 3"]) == (" a = 1", "-b = 2", "+b = 3")


def test_what_ran_stays_in_sight():
    """Of a long line the part that ran is shown with what stands around it, and ellipses where more follows."""
    cut = cut_around(LINE, "x.detach()")
    assert len(cut) <= 200
    assert cut.startswith("… x")
    assert "y = (x.detach() * 2).sum()" in cut
    assert cut.endswith(" …")


def test_the_beginning_of_what_has_no_such_part():
    """A line that ran as a whole is shown from its first word on, indented as it was."""
    cut = cut_around(f"    {LINE}", "")
    assert cut.startswith('    table = """x')
    assert len(cut) <= 200


def test_a_patch_shows_the_difference():
    """Of a long line that is replaced, both forms are cut where they differ."""
    old, new = cut_changes([f"-{LINE}", f"+{LINE.replace('x.detach()', 'x')}"])
    assert "y = (x.detach() * 2)" in old
    assert "y = (x * 2)" in new
    assert max(len(old), len(new)) <= 201


def test_lines_without_a_counterpart():
    """Where more lines come than go, each long one is shown from its beginning."""
    changes = cut_changes([f"-{LINE}", f"+{LINE}", "+more = 1"])
    assert [line[:9] for line in changes] == ["-table = ", "+table = ", "+more = 1"]
    assert max(map(len, changes)) <= 201
