from __future__ import annotations

import pytest
import torch

import autograd_inspector
from autograd_inspector.views.tables.events import norms_of, remarks_of


def trained(weight: torch.Tensor, *, values: bool = True, times: int = 1):
    with autograd_inspector.inspect(values=values) as inspection:
        for _ in range(times):
            (weight * weight).sum().backward()
    return inspection.report


def test_the_norm_is_that_of_the_gradient():
    """The 2-norm of .grad as the backward left it, accumulated."""
    weight = torch.randn(5, 3, requires_grad=True)
    report = trained(weight, times=2)
    assert [value.norm for value in report.capture.leaf_values] == [
        pytest.approx(float(weight.grad.norm()) / 2),
        pytest.approx(float(weight.grad.norm())),
    ]


def test_a_half_precision_gradient_does_not_overflow():
    """Squares of float16 do beyond 256: they are added up in float32."""
    weight = torch.full((4,), 1000.0, dtype=torch.float16, requires_grad=True)
    with autograd_inspector.inspect(values=True) as inspection:
        (weight * 500).sum().backward()
    (value,) = inspection.report.capture.leaf_values
    assert value.norm == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("weight", "zero", "nonfinite"),
    [
        (torch.zeros(3, requires_grad=True), True, False),
        (torch.tensor([float("inf")], requires_grad=True), False, True),
        (torch.ones(3, device="meta", requires_grad=True), False, False),
    ],
    ids=["zero", "infinite", "meta"],
)
def test_what_has_no_norm(weight, zero, nonfinite):
    """Zero is a norm; what is not finite, or has no values, has none."""
    (value,) = trained(weight).capture.leaf_values
    assert (value.zero, value.nonfinite) == (zero, nonfinite)
    assert value.norm == (0.0 if zero else -1.0)


def test_values_are_read_only_when_asked():
    """Without the option no norm is known."""
    assert trained(torch.ones(3, requires_grad=True), values=False).capture.leaf_values == ()


def test_the_graph_can_be_coloured_by_norms():
    """Each parameter's node has the norm of its last gradient; without values there is none."""
    weight = torch.nn.Parameter(torch.ones(4))
    report = trained(weight, times=2)
    (node,) = [node.id for node in report.graph.nodes if node.kind == "parameter"]
    assert norms_of(report.capture, report.graph) == {node: float(weight.grad.norm())}
    with autograd_inspector.inspect() as inspection:
        (weight * 2).sum().backward()
    assert norms_of(inspection.report.capture, inspection.report.graph) == {}


def test_the_last_norm_is_told():
    """One remark a parameter, however many backwards there were; a zero gradient alarms."""
    weight = torch.nn.Parameter(torch.ones(4))
    report = trained(weight, times=3)
    (remark,) = remarks_of(report.capture, report.graph)
    assert "norm 12 " in remark.text
    assert remark.text.endswith("backward 3")
    assert not remark.alarming
    report = trained(torch.nn.Parameter(torch.zeros(4)))
    (remark,) = remarks_of(report.capture, report.graph)
    assert "exactly zero" in remark.text
    assert remark.text.endswith("backward 1")
    assert remark.alarming
