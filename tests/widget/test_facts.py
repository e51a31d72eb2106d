"""What the wire tells beside the graph: versions, arrivals, and the order of events."""

from __future__ import annotations

import contextlib
import json

import torch

import autograd_inspector
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.tables.events import events_of
from autograd_inspector.views.tables.versions import outputs_of

from .programs import Net


def test_outputs_have_the_version_after_their_op():
    """A view shares its base's counter, `.data` has one of its own, an inference tensor has none."""
    w = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        a = w * 2
        b = a.view(3)
        a.add_(1)
        b.detach()
        a.data
        with torch.inference_mode():
            torch.ones(2)
    capture = inspection.report.capture
    versions = iter(outputs_of(capture)[1])
    told = [(op.name, next(versions)) for op in capture.ops for _ in op.outputs]
    assert told == [("mul", 0), ("view", 0), ("add_", 1), ("detach", 1), ("data", 0), ("ones", -1)]


def test_a_backward_that_failed_gave_no_gradient_to_what_it_did_not_reach():
    """What lies before the failure has a gradient, what lies behind it has none."""
    net = Net()
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        net(torch.ones(3, 4)).sum().backward()
    report = inspection.report
    wire = json.loads(encoded(report)[0])
    gradients = dict(zip((n.name for n in report.graph.nodes), wire["nodes"]["gradient"], strict=True))
    given = {name for name, p in net.named_parameters() if p.grad is not None}
    assert given == {"head.weight", "head.bias"}
    assert {name: gradients[f"net.{name}"] for name, _ in net.named_parameters()} == {
        name: 1 if name in given else 2 for name, _ in net.named_parameters()
    }


def test_hooks_count_where_their_gradient_comes_from():
    """At the op that made the tensor, or at the leaf."""
    w = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        w.register_hook(lambda gradient: gradient)
        product = w * 2
        product.register_hook(lambda gradient: gradient)
        product.sum().backward()
    report = inspection.report
    hooks = json.loads(encoded(report)[0])["nodes"]["hooks"]
    assert {node.name: count for node, count in zip(report.graph.nodes, hooks, strict=True) if count} == {
        "w": 1,
        "mul": 1,
    }


def test_backward_comes_before_the_mode_of_the_next_op():
    """A mode is known by the first op in it, which ran after the backward."""
    w = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        w.sum().backward()
        with torch.no_grad():
            w.mul(2)
    kinds = [event.kind for event in events_of(inspection.report.capture)]
    assert kinds == ["backward", "mode"]
