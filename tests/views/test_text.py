from __future__ import annotations

import re

import msgspec
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.edit import Unedited
from autograd_inspector.views.summary import brief


def told(report, finding, **options) -> str:
    return msgspec.structs.replace(report, findings=(finding,)).to_text(**options)


def test_a_finding_is_complete_in_text(broken, finding):
    """Text alone has the rule, message, every place with its role and line, the story, the fix, what follows."""
    text = told(broken, finding)
    assert re.search(r"^  why: `hidden` was modified", text, re.MULTILINE)
    for part in (
        "error AG201 saved-tensor-modified",
        finding.message,
        *finding.details,
        "encoder.weight",
        "fix: hidden = hidden + 1.0",
        "return hidden",
        "AG301 no-gradient: encoder.weight",
    ):
        assert part in text
    assert re.search(r"modified here +train\.py:8 +hidden\.add_\(1\.0\)", text)
    assert re.search(r"saved here +In \[4\], line 3 +hidden = torch\.sigmoid\(x\)", text)


@pytest.fixture
def raised():
    """A program that torch refuses, and its report."""
    inspection = autograd_inspector.inspect()
    with pytest.raises(RuntimeError, match="inplace"), inspection:  # noqa: PT012 - the block is what is inspected
        hidden = torch.ones(3, requires_grad=True).exp()
        hidden.add_(1)
        hidden.sum().backward()
    return inspection.report


def test_the_answer_comes_first(raised, finding):
    """The finding's name, the culprit marked, the other lines, why, the fix; torch's own text is one line below."""
    first, _, *lines = told(raised, finding).split("\n")
    assert first.startswith("autograd inspector: 1 error")
    begins = [
        "error AG201",
        "> modified here",
        "  saved here",
        "  why: ",
        *["       "] * 3,
        "  fix: ",
        *["       "] * 2,
    ]
    for line, begin in zip(lines, begins, strict=False):
        assert line.startswith(begin)
    assert sum(line.startswith(">") for line in lines) == 1
    at = len(begins)
    assert lines[at] == lines[at + 2] == ""
    assert lines[at + 1].startswith("the program raised RuntimeError: one of the variables")
    assert lines[at + 1].endswith("…")


def test_an_exception_that_no_finding_explains_is_whole(raised):
    """It is then all there is to read: as many lines as it takes."""
    text = msgspec.structs.replace(raised, findings=()).to_text()
    assert "the program raised RuntimeError: one of the variables" in text
    assert "expected version 0 instead" in text.replace("\n", " ")


def test_names_that_the_message_has_are_not_repeated(broken, finding):
    """`concerns:` stands only where the message leaves out a name; a part of a longer name is not that name."""
    for name, named in (("hidden", True), ("sigmoid", True), ("hid", False), ("net.hidden", False)):
        text = told(broken, msgspec.structs.replace(finding, subjects=(name,)))
        assert ("concerns:" not in text) is named


def test_an_interrupt_is_an_interrupt():
    """It has no message, so that no colon follows it."""
    inspection = autograd_inspector.inspect()
    with pytest.raises(KeyboardInterrupt), inspection:  # noqa: PT012 - the block is what is inspected
        torch.ones(2)
        raise KeyboardInterrupt
    assert inspection.report.capture.error == "KeyboardInterrupt"
    assert "\nthe program was interrupted\n" in inspection.report.to_text()
    assert "the program was interrupted</p>" in inspection.report.to_html()


def test_lines_outside_of_the_graph_are_counted():
    """What makes a model and its inputs is one line of the text: autograd recorded nothing of it."""
    with autograd_inspector.inspect() as inspection:
        net = nn.Linear(2, 2)
        x = torch.randn(1, 2)
        net(x).exp().sum().backward()
    text = inspection.report.to_text()
    assert "kaiming_uniform_" not in text
    assert "… and 2 lines with 5 ops that are not in the graph" in text
    assert "exp, sum" in text


def test_findings_come_before_the_graph_and_the_graph_before_the_placement(broken, finding):
    """The reader meets what is wrong first."""
    text = told(broken, finding)
    assert text.index("AG201") < text.index("\ngraph: ") < text.index("\nplacement: ")


def test_the_module_tree_marks_what_backward_found_changed(broken):
    """The branch of the module that saved the tensor tells both versions."""
    lines = broken.to_text().split("\n")
    at = next(n for n, line in enumerate(lines) if "norm  LayerNorm" in line)
    assert "saved input v0, now v1" in lines[at + 1]
    assert "backward failed here" in lines[at + 2]


def test_a_module_counts_what_its_parts_share_once():
    """tanh and the layer after it save one tensor: each says so, and the module around them counts it once."""
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    with autograd_inspector.inspect() as inspection:
        out = net(torch.ones(32, 4))
    lines = [line for line in inspection.report.to_text().splitlines() if " saved" in line]
    del out
    assert [line.split(" · ")[-1] for line in lines[1:5]] == ["2.56 kB saved", "512 B saved", *["2.05 kB saved"] * 2]


def test_the_module_tree_marks_cuts_with_their_cause(detached):
    """Where gradient stops stands in the tree, with the line."""
    assert re.search(r"✂ cut: detached +conftest\.py:\d+", detached.to_text())


def test_equal_neighbours_share_a_branch_and_a_row(deep):
    """Twelve equal blocks take one branch of the tree, and their weights one row of the table."""
    text = deep.to_text()
    assert re.search(r"0 … 11 ×12 +Sequential", text)
    assert re.search(r"\{0…11\}\.\{0…2\}\.weight +×24", text)
    assert len(text.split("\n")) < 40


def test_what_all_parameters_share_is_said_once(deep):
    """dtype, device and optimizer are no columns when they are the same everywhere."""
    text = deep.to_text()
    (line,) = [line for line in text.splitlines() if "all of them: " in line]
    shared = set(line.partition("all of them: ")[2].split(", "))
    assert {"dtype float32", "device cpu", "gradient yes", "optimizer AdamW"} <= shared
    assert text.count("float32") == 1


def test_text_is_plain_unless_colour_is_asked_for(broken, finding):
    """A log gets no escape sequences; a terminal does."""
    assert "\x1b" not in told(broken, finding)
    assert "\x1b[" in told(broken, finding, color=True)


def test_text_keeps_to_the_width(broken, finding):
    """No line is longer than asked for, but for nothing: long ones wrap."""
    for width in (40, 60, 80, 100, 160):
        assert max(map(len, told(broken, finding, width=width).split("\n"))) <= width


def test_text_is_the_same_every_time(deep):
    """Two texts of one report are equal: notebooks are compared by their outputs."""
    assert deep.to_text() == deep.to_text()


def test_an_empty_capture_has_a_text():
    """A block without a torch call is reported without fuss."""
    with autograd_inspector.inspect() as inspection:
        pass
    assert inspection.report.to_text() == "autograd inspector: nothing observed\n"


def test_brief_has_what_a_reader_needs_first(finding):
    """In few lines: rule, message, the culprit's line, the fix."""
    lines = brief(finding).split("\n")
    assert lines[0] == "AG201 saved-tensor-modified (error)"
    assert any("train.py:8  hidden.add_(1.0)" in line for line in lines)
    assert any("fix: hidden = hidden + 1.0" in line for line in lines)
    assert len(lines) <= 6


def test_a_report_says_in_one_line_what_it_is(broken):
    """The repr counts findings and ops."""
    assert re.fullmatch(r"<Report: .+ · \d+ ops observed>", repr(broken))


def test_ops_outside_of_modules_are_listed_by_line():
    """A loop without modules takes one line, with counts."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = w
        for _ in range(50):
            h = (h * w).tanh()
        h.sum().backward()
    assert re.search(r"h = \(h \* w\)\.tanh\(\) +mul ×50, tanh ×50", inspection.report.to_text())


def test_a_long_line_of_an_edit_hangs_below_its_own_indentation(broken, finding):
    """What does not fit in one line is told from the lines around it, and blank lines around an edit are left out."""
    call = ", ".join(f"argument_{number}" for number in range(12))
    patch = f"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n first()\n-    old({call})\n+    new({call})\n \n"
    text = told(broken, msgspec.structs.replace(finding, patch=patch), width=80)
    lines = text.splitlines()
    [start] = [number for number, line in enumerate(lines) if "+    new(" in line]
    sign = lines[start].index("+")
    assert lines[start + 1][: sign + 9].strip() == ""
    assert lines[start + 1][sign + 9 :].startswith("argument_")
    assert msgspec.structs.replace(finding, patch=patch).changes[-1].startswith("+")


def test_where_there_is_no_edit_the_text_says_why(broken, finding):
    """Below the fix; of an info nothing."""
    bare = msgspec.structs.replace(finding, edits=(), patch="", unedited=Unedited("form", "train.py:8"))
    assert "(no edit: no edit is known for the way train.py:8 is written)" in told(broken, bare, width=120)
    assert "no edit" not in told(broken, msgspec.structs.replace(bare, severity="info"))
