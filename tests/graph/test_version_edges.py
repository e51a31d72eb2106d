"""Who modified what a node had saved: an edge from the saver to the modifier, with the versions."""

from __future__ import annotations

import contextlib

import pytest
import torch

from autograd_inspector import inspect
from autograd_inspector.views.encoding import record_of
from autograd_inspector.views.notebook.condensed import condensed
from autograd_inspector.views.picture.boxes import picture
from autograd_inspector.views.picture.dot import to_dot


class _AddsOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def itself(h):
    result = h.sin()
    h.add_(1)
    return result


def own_result(h):
    result = h.sigmoid()
    result += 1
    return result


def base_of_a_saved_view(h):
    row = h[0]
    result = row.exp() * row
    h.add_(1)
    return result


def view_of_what_was_saved(h):
    result = h.sin()
    h[0].mul_(2)
    return result


def detached_view(h):
    result = h.sin()
    h.detach().add_(1)
    return result


def within_a_function(h):
    result = h.sin()
    _AddsOne.apply(h)
    return result


def report_of(program):
    """Of a backward through the program's result, which fails where something that was saved is modified."""
    w = torch.ones(2, 3, requires_grad=True)
    with contextlib.suppress(RuntimeError), inspect() as inspection:
        program(w * 2).sum().backward()
    return inspection.report


def named(report, edges):
    return [(report.graph.nodes[edge.source].name, report.graph.nodes[edge.target].name, edge.said) for edge in edges]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (itself, ("sin", "add_", "v0→v1")),
        (own_result, ("sigmoid", "add_", "v0→v1")),
        (base_of_a_saved_view, ("mul", "add_", "v0→v1")),
        (view_of_what_was_saved, ("sin", "mul_", "v0→v1")),
        (detached_view, ("sin", "add_", "v0→v1")),
    ],
)
def test_the_edge_leads_from_saver_to_modifier(program, expected):
    """Views share the counter of their base: a write to either is one to the other."""
    report = report_of(program)
    assert named(report, report.version_edges) == [expected]


def test_a_write_within_a_function_is_the_functions():
    """One edge leads to it, however often it writes."""
    report = report_of(within_a_function)
    (edge,) = report.version_edges
    assert named(report, [edge])[0][:2] == ("sin", "_AddsOne")
    assert edge.before == 0


def test_healthy_programs_have_none():
    """What nobody saved may be modified."""
    report = report_of(lambda h: (h + 1).add_(1))
    assert report.version_edges == ()
    assert "saved, then modified" not in to_dot(report).source


def test_the_front_end_and_the_picture_draw_it():
    """The wire has an edge of that kind; the picture a line with the versions, and says what it means."""
    report = report_of(base_of_a_saved_view)
    record = record_of(report)
    kinds = [record.strings[kind] for kind in record.edges.kind]
    assert kinds.count("modified") == 1
    assert record.strings[record.edges.cause[kinds.index("modified")]] == "v0→v1"
    (link,) = [link for link in picture(report, limit=40).links if link.kind == "modified"]
    assert (link.label, link.tone) == ("v0→v1", "error")
    source = to_dot(report).source
    assert "v0→v1" in source
    assert "saved, then modified" in source


def test_a_condensed_report_keeps_it():
    """Between the boxes that stand for the nodes; it is no value that went from one to the other."""
    report = report_of(base_of_a_saved_view)
    small = condensed(report, rows=5)
    (edge,) = small.version_edges
    assert small.graph.nodes[edge.target].name == "add_"
    kinds = [record_of(small).strings[kind] for kind in record_of(small).edges.kind]
    assert kinds.count("modified") == 1
    assert "modified" not in {edge.kind for edge in small.graph.edges}
