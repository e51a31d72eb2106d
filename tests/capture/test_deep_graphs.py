"""Graphs deeper than autograd's nodes are walked: what the report says, and what it does not."""

import pytest
import torch
from torch import nn

import autograd_inspector

DEEPER = 6_000
FAR_DEEPER = 8_000
UNKNOWN = "Part of the rest"
REACHED = {"cell.start": True, "cell.weight": True, "cell.unused": False}


def inspected(program):
    """The report of one call; an exception that torch raises belongs to it."""
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            program()
    except RuntimeError:
        pass
    return inspection.report


def alarms(report):
    """(rule, subjects) of what is more than info."""
    return [(f.rule, f.subjects) for f in report.findings if f.severity != "info"]


class Cell(nn.Module):
    """A recurrent cell, its first state, and what nothing uses."""

    def __init__(self):
        super().__init__()
        self.start, self.weight, self.unused = (nn.Parameter(torch.full((2,), 0.5)) for _ in range(3))

    def unroll(self, steps):
        """The last state."""
        h = self.start
        for _ in range(steps):
            h = torch.tanh(self.weight * h)
        return h


def test_a_recurrent_loop():
    """The first state lies below everything; it is reached, and what takes no part is not."""
    cell = Cell()
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)

    def program():
        cell.unroll(DEEPER // 2).sum().backward()
        optimizer.step()

    report = inspected(program)
    assert {row.name: row.reached for row in report.placement.rows} == REACHED
    assert alarms(report) == [("AG301", ("cell.unused",))]


def test_many_layers():
    """Each of thousands of layers is reached."""
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(5_100)])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def program():
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    report = inspected(program)
    assert all(row.reached for row in report.placement.rows)
    assert alarms(report) == []


def test_tens_of_thousands_of_ops():
    """The leaf at the bottom is reached, and so is the one above the end of the walk; the one cut off is not."""
    bottom, top, cut = (nn.Parameter(torch.ones(2)) for _ in range(3))
    optimizer = torch.optim.SGD([bottom, top, cut], lr=0.1)

    def program():
        h = bottom + cut.detach()
        for _ in range(30_000):
            h = h * 1.0
        (h * top).sum().backward()
        optimizer.step()

    report = inspected(program)
    (run,) = report.capture.backwards
    assert {report.capture.display_names.in_table(t) for t in run.reached} == {"bottom", "top"}
    assert [rule for rule, _ in alarms(report)] == ["AG101"]


def test_what_was_cut_off_is_said_once():
    """One note tells how many nodes were walked, how deep, and from which call on the records stand in."""
    cell = Cell()

    def program():
        for _ in range(2):
            cell.unroll(DEEPER // 2).sum().backward()

    report = inspected(program)
    (note,) = report.notes
    assert "5,002 of its nodes" in note
    assert "depth of 5,000" in note
    assert "`mul` (test_deep_graphs.py:" in note
    assert UNKNOWN not in note
    assert not any(run.graph.blind for run in report.capture.backwards)
    for page in (report.to_text(width=10_000), report.to_html()):
        assert "depth of 5,000" in page
    walked = [node for node in report.capture.graph_of(report.capture.backwards[0]).nodes if node.met]
    assert len(walked) == 5_002


def test_a_graph_that_is_not_deep_is_not_told_of():
    """Whatever is walked to its end needs no note."""
    report = inspected(lambda: Cell().unroll(100).sum().backward())
    assert report.notes == ()
    assert not report.graph.truncated


def test_a_deep_graph_from_before():
    """Where neither nodes nor calls are known, nothing is concluded about what nobody looked at."""
    first, last, unused = (nn.Parameter(torch.ones(2)) for _ in range(3))
    optimizer = torch.optim.SGD([first, last, unused], lr=0.1)
    h = first * 1
    for _ in range(DEEPER):
        h = h * 1
    loss = (h * last).sum()

    def program():
        loss.backward()
        optimizer.step()

    report = inspected(program)
    assert report.capture.backwards[0].graph.blind
    assert UNKNOWN in report.notes[0]
    assert alarms(report) == []


def test_a_deep_graph_from_before_of_a_model():
    """The parameters of models are looked at before and after: those that got a gradient were reached."""
    cell = Cell()
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    loss = cell.unroll(DEEPER).sum()
    with autograd_inspector.inspect() as inspection:
        loss.backward()
        optimizer.step()
    rows = inspection.report.placement.rows
    assert {row.name: row.reached for row in rows} == REACHED
    assert alarms(inspection.report) == []


def test_calls_that_nothing_shows():
    """What C++ computed by itself has no record: a parameter that the capture knew is judged by its gradient."""
    cell = Cell()
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)

    def program():
        optimizer.zero_grad()
        h = cell.start * 1
        with torch._C.DisableTorchFunction():
            for _ in range(DEEPER):
                h = h * cell.weight
        h.sum().backward()
        optimizer.step()

    report = inspected(program)
    (run,) = report.capture.backwards
    assert run.graph.blind
    assert {report.capture.display_names.in_table(t) for t in run.untouched} == {"cell.unused"}
    assert {row.name: row.reached for row in report.placement.rows} == REACHED
    assert alarms(report) == [("AG301", ("cell.unused",))]


def test_gradients_are_not_kept_alive_by_the_look_at_them():
    """A hook that sets `.grad` to None in backward frees it there and then."""
    cell = Cell()
    cell.start.grad = torch.ones(2)
    old = torch.utils.weak.WeakTensorKeyDictionary({cell.start.grad: True})
    left = []

    def forget(parameter):
        cell.start.grad = None
        left.append(len(old))

    def program():
        cell.weight.register_post_accumulate_grad_hook(forget)
        cell.unroll(DEEPER).sum().backward()

    inspected(program)
    assert left == [0]


def modified_result():
    """The result of `exp`, read by a product."""
    kept = (torch.ones(3, requires_grad=True) * 1).exp()
    h = kept * 2
    for _ in range(FAR_DEEPER):
        h = h + 1
    kept.add_(1)
    h.sum().backward()


def modified_through_a_view():
    """A state of a recurrence, through a view of it."""
    h = torch.ones(3, requires_grad=True) * 1
    for step in range(FAR_DEEPER):
        h = h.sigmoid()
        if step == 1_000:
            kept = h
    kept[0].add_(1)
    h.sum().backward()


def modified_operand():
    """A constant factor of each round."""
    factor, h = torch.ones(3), torch.ones(3, requires_grad=True) * 1
    for step in range(FAR_DEEPER):
        h = h * factor
        if step == 1_000:
            factor.add_(1)
    h.sum().backward()


def modified_weight():
    """A parameter in the midst of the forward."""
    layer, h = nn.Linear(3, 3), torch.ones(1, 3)
    for step in range(FAR_DEEPER):
        h = layer(h)
        if step == 1_000:
            with torch.no_grad():
                layer.weight.add_(1)
    h.sum().backward()


@pytest.mark.parametrize(
    ("program", "saver", "line"),
    [
        (modified_result, "mul", "kept.add_(1)"),
        (modified_through_a_view, "sigmoid", "kept[0].add_(1)"),
        (modified_operand, "mul", "factor.add_(1)"),
        (modified_weight, "linear", "layer.weight.add_(1)"),
    ],
)
def test_a_version_error_far_below(program, saver, line):
    """Torch names a kind of node and two versions; the records know who saved and who modified."""
    report = inspected(program)
    (found,) = [f for f in report.findings if f.severity == "error"]
    assert found.rule == "AG201"
    assert f"saved by `{saver}`" in found.message
    assert found.locations[0].source.strip() == line
    assert found.locations[0].role == "modified here"


def test_a_version_error_of_what_an_op_made_for_itself():
    """Torch saved a row of its own making: the record knows the vector that it was made of."""

    def program():
        vector, weight = torch.ones(3), torch.ones(3, 3, requires_grad=True)
        h = vector @ weight
        for _ in range(DEEPER):
            h = h * 1.0
        vector.add_(1)
        h.sum().backward()

    report = inspected(program)
    (found,) = [f for f in report.findings if f.severity == "error"]
    assert found.rule == "AG201"
    assert found.locations[0].source.strip() == "vector.add_(1)"
