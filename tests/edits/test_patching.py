"""Edits made in a text: which of them, in which order, and what stays."""

from autograd_inspector.edits.patching import compiles, diff, overlap, patched
from autograd_inspector.model.edit import Edit


def edit(line, column, end_column, text, *, end_line=None):
    """A change within one file."""
    return Edit("train.py", None, line, column, end_line or line, end_column, text)


def test_changes_of_one_finding_are_made_together():
    """Each place is that of the text before, whatever another change adds above it."""
    edits = [edit(1, 0, 0, "import torch\n"), edit(2, 4, 5, "yy")]
    assert patched("a = 1\nb = x\n", [edits]) == "import torch\na = 1\nb = yy\n"


def test_columns_are_bytes():
    """As Python tells them."""
    assert patched("é = xß\n", [[edit(1, 5, 8, "y")]]) == "é = y\n"


def test_of_findings_that_concern_one_part_the_first_is_cured():
    """The other's edits are left out, all of them."""
    first, second = [edit(1, 4, 9, "a")], [edit(1, 6, 7, "b"), edit(2, 0, 0, "pass\n")]
    assert patched("x = abcde\n", [first, second]) == "x = a\n"


def test_what_two_findings_want_alike_is_done_once():
    """Both say that the gradients have to be cleared there."""
    clear = [edit(1, 0, 0, "opt.zero_grad()\n")]
    assert patched("loss.backward()\n", [clear, list(clear)]) == "opt.zero_grad()\nloss.backward()\n"


def test_insertions_at_one_place_stand_in_the_order_of_their_findings():
    """The first finding's statement comes first."""
    assert patched("c\n", [[edit(1, 0, 0, "a\n")], [edit(1, 0, 0, "b\n")]]) == "a\nb\nc\n"


def test_a_statement_behind_a_last_line_without_an_end():
    """It stands on a line of its own."""
    assert patched("a = 1", [[edit(2, 0, 0, "b = 2\n")]]) == "a = 1\nb = 2\n"


def test_a_place_beyond_the_text_changes_nothing():
    """The file is another one by now."""
    assert patched("a = 1\n", [[edit(7, 0, 2, "b")]]) == "a = 1\n"
    assert overlap("a = 1\n", [edit(7, 0, 2, "b")])


def test_a_form_feed_ends_no_line():
    """Python's lines are counted, not those of str.splitlines()."""
    assert patched("a = 1\n\x0cb = 2\n", [[edit(2, 5, 6, "3")]]) == "a = 1\n\x0cb = 3\n"


def test_a_cell_with_magics_is_python():
    """Its own lines are left out where that is decided."""
    assert compiles("%time f()\nx = 1\n")
    assert compiles("x = await f()\n")
    assert not compiles("x = = 1\n")
    assert not compiles("return 1\n")


def test_a_diff_is_one_that_tools_read():
    """Without a leading slash, and with a word about a last line without an end."""
    assert diff("/home/train.py", "a\nb", "a\nc\n") == (
        "--- a/home/train.py\n+++ b/home/train.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )
