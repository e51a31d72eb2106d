"""The steps of a long run, as text and as a page."""

import re
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from torch import nn

import autograd_inspector
from autograd_inspector.api.report import Report
from autograd_inspector.model.steps_history import History, Runs
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.summaries.steps import extremes
from autograd_inspector.views.text.sparkline import sparkline


def trained(steps, *, fails=0):
    """The report of so many steps; step 20 takes a branch of its own, one may fail."""
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            for step in range(1, steps + 1):
                optimizer.zero_grad()
                out = net(torch.ones(8, 4))
                if step == 20:
                    out = out.exp()
                if step == fails:
                    raise ValueError("no data")
                out.pow(2).mean().backward()
                optimizer.step()
    except ValueError:
        assert fails
    return inspection.report


def section(report):
    text = report.to_text()
    return text[text.index("steps: ") :].split("\n\n")[0].splitlines() if "steps: " in text else []


def test_the_text_says_how_many_steps_and_what_changed_when():
    """A figure that is alike in all steps is one number, others have a range and a line of blocks."""
    lines = section(trained(60))
    assert lines[0] == "steps: 60 complete steps"
    figures = {line[:27].strip(): line[27:].strip() for line in lines[1:-1]}
    assert figures["parameters written"] == "2 of 2"
    assert figures["backward runs"] == "1"
    assert "█" in figures["autograd nodes"]
    assert figures["autograd nodes"].startswith("6 to 7")
    assert lines[-1].startswith("step 20  ")
    assert "`exp` ran here" in lines[-1]


def test_the_step_that_raised_is_numbered():
    """49 steps were completed; the 50th raised."""
    heading = section(trained(60, fails=50))[0]
    assert heading.startswith("steps: 49 complete steps; ")
    assert heading.endswith(" raised in step 50")


def test_what_was_folded_is_said_in_a_note():
    """Of which steps the report has counts only; a short run has no such note."""
    assert [note for note in trained(60).notes if note.startswith("Steps 1 to 58 ")]
    assert trained(5).notes == ()


def test_two_steps_are_nothing_to_compare():
    """A report of one cell or step has no such section."""
    assert section(trained(2)) == []


def test_the_history_survives_json():
    """The text of a report that was read back is the same."""
    report = trained(60)
    again = Report.from_json(report.to_json())
    assert again.to_text() == report.to_text()
    assert again.history == report.history


def test_the_page_plots_what_differs_between_steps():
    """A polyline for each figure that is not alike in all steps, with a label for who cannot see it."""
    page = trained(60).to_html()
    plots = re.findall(r'<svg viewBox="0 0 480 36" role="img" class="plot" aria-label="([^"]*)">', page)
    assert [label.split(" over ")[0] for label in plots] == ["autograd nodes", "torch calls"]
    assert plots[0].endswith("60 steps: 6 to 7")
    points = re.findall(r'<polyline points="([^"]*)">', page)
    heights = [[float(point.split(",")[1]) for point in line.split()] for line in points]
    assert [line.index(min(line)) for line in heights] == [19, 19]
    assert all(0 <= height <= 36 for line in heights for height in line)
    assert " ran here " in page


def test_the_page_of_one_step_has_no_plot():
    """There is nothing to compare."""
    assert "<h2>Steps</h2>" not in trained(1).to_html()


@pytest.mark.parametrize("count", [1, 39, 40, 41, 10_000])
def test_a_sparkline_is_short_and_loses_no_spike(count):
    """Forty characters for any number of steps; one step that differs shows."""
    values = [5] * count
    values[count // 3] = 9
    drawn = sparkline(column(values))
    assert len(drawn) <= 40
    assert ("█" in drawn) is (count > 1)
    assert max(value for _, value in extremes(column(values), 40)) == 9


def column(values):
    return Runs.of((step, step + 1, value) for step, value in enumerate(values))


@given(st.lists(st.integers(-3, 3), max_size=60), st.integers(1, 12))
def test_stretches_of_equal_values_are_looked_at_as_one(values, most):
    """What is drawn of a column is what looking at each of its values gives."""
    runs = column(values)
    assert list(runs) == values
    typical = statistics.median_low(values) if values else 0
    count = min(len(values), most)
    buckets = [range(n * len(values) // count, (n + 1) * len(values) // count) for n in range(count)]
    expected = [max(bucket, key=lambda step: abs(values[step] - typical)) for bucket in buckets]
    assert extremes(runs, most) == [(step, values[step]) for step in expected]


def test_many_equal_steps_cost_as_much_as_one():
    """A history of 10**12 steps is shown as quickly as one of two: it has as many stretches."""
    report = trained(4)
    many = Runs((5, 7), (10**12, 1))
    history = History(
        steps=10**12 + 1, sets=((0,),), without=Runs((-1, 0), (1, 10**12)),
        **dict.fromkeys(("ops", "nodes", "saved_bytes", "backwards", "parameters", "still", "stepped", "graph"), many),
    )  # fmt: skip
    history = replace(history, still=Runs((-1,), (10**12 + 1,)))
    shown = replace(report, capture=replace(report.capture, history=history))
    assert "1,000,000,000,001 complete steps" in shown.to_text()
    assert "1,000,000,000,001 complete steps" in shown.to_html()
    assert encoded(shown)[0]
