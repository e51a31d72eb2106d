from __future__ import annotations

from autograd_inspector.kernel.hub.entries import entry_of
from tests.widget import programs

MODEL = """
import torch
from torch import nn
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
def hidden(x):
    return encoder(x).detach()
"""
STEP = "head(hidden(torch.ones(2, 4))).sum().backward()\noptimizer.step()"


def test_an_entry_tells_of_its_cell(shell):
    """Label, id, first line without the magic; counts, sizes and times."""
    shell.ip.run_cell(MODEL, store_history=True, cell_id="first")
    cell = f"%%autograd_inspect --store report\n\n# train\n{STEP}"
    shell.ip.run_cell(cell, store_history=True, cell_id="second")
    entry = entry_of(shell["report"], "7", 12.5)
    assert (entry.id, entry.created) == ("7", 12.5)
    assert entry.cell == "In [3]"
    assert entry.cell_id == "second"
    assert entry.first_line == "# train"
    assert (entry.errors, entry.warnings) == (0, 1)
    assert entry.nodes == len(shell["report"].graph.nodes)
    assert entry.ops == len(shell["report"].capture.ops)
    assert 0 < entry.seconds < 60


def test_marks_name_the_lines_of_findings(shell):
    """The culprit's line first, in the cell where it stands, with message and fix."""
    shell.ip.run_cell(MODEL, store_history=True, cell_id="first")
    cell = f"%%autograd_inspect --store report\n{STEP}"
    shell.ip.run_cell(cell, store_history=True, cell_id="second")
    marks = entry_of(shell["report"], "7", 0.0).marks
    culprit = marks[0]
    assert culprit.culprit
    assert (culprit.rule, culprit.severity) == ("AG101", "warning")
    assert (culprit.cell, culprit.cell_id, culprit.line) == ("In [2]", "first", 7)
    assert culprit.source == "return encoder(x).detach()"
    assert "detach" in culprit.message
    assert culprit.fix
    assert len({(mark.rule, mark.cell, mark.line) for mark in marks}) == len(marks)


def test_a_failed_program_says_what_it_raised():
    """One line of the exception; of the lines of files the culprit alone, with the file's name."""
    entry = entry_of(programs.broken(), "1", 0.0)
    assert entry.errors == 1
    (mark,) = entry.marks
    assert mark.culprit
    assert (mark.cell, mark.cell_id) == ("programs.py", "")
    assert mark.path == programs.__file__
    assert entry.cell == "programs.py"
