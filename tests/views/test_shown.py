from __future__ import annotations

import pytest

from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import ParameterRow, StateEntry
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import listed, op_name, shown, size
from autograd_inspector.views.summaries.table import table_of


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (999_700, "1 MB"), (1_234_567, "1.23 MB")]
)
def test_sizes_have_three_digits(count, text):
    """Bytes are rounded for reading."""
    assert size(count) == text


def test_names_are_shown_on_one_line():
    """Controls and direction marks are spelled out, long names lose their middle, the rest stays."""
    assert shown("a\nb\x1b\u202e") == "a\\nb\\x1b\\u202e"
    assert shown("β·x – gut") == "β·x – gut"
    assert len(shown("y" * 10_000)) < 200


def test_lists_count_repetitions():
    """Op names are listed in order, each once."""
    assert listed(["view", "addmm", "view"]) == "view ×2, addmm"
    assert listed(list("abcdefgh")) == "a, b, c, d, e, f, 2 more"
    assert counted(1, "op") == "1 op"
    assert counted(2_000, "op") == "2,000 ops"
    assert op_name("__getitem__") == "getitem"


def row(number: int, name: str, *state: StateEntry, device: str = "cpu") -> ParameterRow:
    return ParameterRow(
        (4, 4),
        "float32",
        device,
        64,
        number,
        64,
        tensor=number,
        name=name,
        names=(name,),
        model="net",
        requires_grad=True,
        state=state,
    )


def test_a_state_on_another_device_stands_out():
    """One parameter whose state lives elsewhere keeps its own row, and the row says where."""
    moved = StateEntry((4, 4), "float32", "meta", 64, name="exp_avg")
    same = StateEntry((4, 4), "float32", "cpu", 64, name="exp_avg")
    rows = (row(0, "h.0.weight", same), row(1, "h.1.weight", moved), row(2, "h.2.weight", same))
    table = table_of(Placement(rows))
    state = table.headers.index("state")
    assert [(cells[0], cells[state]) for cells in table.rows] == [
        ("h.{0…2}.weight  ×2", "exp_avg"),
        ("h.1.weight", "exp_avg (meta)"),
    ]


def test_bytes_of_tied_parameters_count_once():
    """Two names of one storage do not double its bytes."""
    rows = (row(0, "a.0"), row(0, "a.1"))
    (cells,) = table_of(Placement(rows)).rows
    assert cells[-1] == "64 B"


def test_many_kinds_of_parameters_are_folded_by_module():
    """Beyond a page of rows the table has one row a module."""
    rows = tuple(row(n, f"{'abcdefghijklmnopqrstuvwxyz'[n]}.{w}") for n in range(26) for w in ("weight", "bias"))
    table = table_of(Placement(rows))
    assert [cells[0] for cells in table.rows[:2]] == ["a.*  ×2", "b.*  ×2"]
    assert len(table.rows) == 26
