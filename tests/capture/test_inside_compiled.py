"""A block that a compiled function opens: the program is as without it, and one line says where to put the block."""

import warnings

import pytest
import torch
from torch import nn

import autograd_inspector

REFUSED = "put torch.compiler.disable on the function that calls it"


@pytest.fixture(autouse=True)
def _told_not_raised(monkeypatch):
    """Elsewhere a failure of the inspector ends a test."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT", raising=False)
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_block_in_a_compiled_function_is_refused_in_one_line_and_changes_nothing(backend):
    """Dynamo neither traces the recorder nor warns of it; values, gradients and later calls are right."""
    net, x = nn.Linear(3, 3), torch.randn(2, 3)
    reports = []

    @torch.compile(backend=backend)
    def loss_of(x):
        hidden = net(x)
        with autograd_inspector.inspect() as inspection:
            loss = hidden.square().sum()
        reports.append(inspection)
        return loss

    wanted = torch.autograd.grad(net(x).square().sum(), net.weight)[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            assert torch.equal(torch.autograd.grad(loss_of(x), net.weight)[0], wanted)
    assert all(REFUSED in str(each.message) for each in told), [str(each.message) for each in told]
    assert len(reports) == 2
    for each in reports:
        assert any(REFUSED in note for note in each.report.notes)
        assert not each.report.findings


def test_a_function_that_dynamo_leaves_alone_may_open_one():
    """All of it is recorded, though compiled code calls it."""
    net, x = nn.Linear(3, 3), torch.randn(2, 3)
    reports = []

    @torch.compiler.disable
    def cut(hidden):
        with autograd_inspector.inspect() as inspection:
            loss = hidden.detach().square().sum()
        reports.append(inspection.report)
        return loss

    @torch.compile(backend="eager")
    def loss_of(x):
        return cut(net(x))

    assert not loss_of(x).requires_grad
    assert [op.name for op in reports[0].capture.ops] == ["detach", "square", "sum"]


def test_compiled_code_that_runs_as_it_is_written_may_open_one():
    """Under force_eager nothing is traced."""
    reports = []

    @torch.compile(backend="eager")
    def doubled(x):
        with autograd_inspector.inspect() as inspection:
            x = x * 2
        reports.append(inspection.report)
        return x

    with torch.compiler.set_stance("force_eager"):
        doubled(torch.ones(2))
    assert [op.name for op in reports[0].capture.ops] == ["mul"]
