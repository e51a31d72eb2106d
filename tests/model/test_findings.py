"""What becomes of what a rule found."""

from autograd_inspector.model.finding import Finding, Problem
from autograd_inspector.model.location import CALLER, Location


def test_a_finding_has_each_line_name_and_op_once():
    """A line that plays a part does not stand there as the one that called it, too."""
    lines = (
        Location("a.py", 1, role="made here"),
        Location("a.py", 2, role=CALLER),
        Location("a.py", 2, role="read here"),
    )
    finding = Finding.of(
        "AG999", "rule", Problem("info", "text", "", (*lines, lines[0]), ("w", "v", "w"), ops=(3, 1, 3))
    )
    assert [(place.lineno, place.role) for place in finding.locations] == [(1, "made here"), (2, "read here")]
    assert (finding.subjects, finding.ops) == (("w", "v"), (3, 1))


def test_lines_and_bodies_of_locations():
    """Two lines of one function lie in one body."""
    one, other = Location("a.py", 1, "f"), Location("a.py", 2, "f")
    assert one.line != other.line
    assert one.scope == other.scope != Location("b.py", 1, "f").scope
