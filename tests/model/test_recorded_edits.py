"""What autograd recorded in place: one list of edits a tensor, a new one where its history is taken away."""

import torch

import autograd_inspector
from autograd_inspector.analysis.recorded_edits import RecordedEdits


def edits(program):
    """Per tensor with edits the names of its ops, list by list."""
    with autograd_inspector.inspect() as inspection:
        program()
    chains = RecordedEdits(inspection.report.capture).chains.values()
    return [[[op.name for op in chain] for chain in of_one] for of_one in chains]


def test_edits_that_autograd_records():
    """Those with a node of their own; without a gradient in it, or under no_grad, none has one."""

    def program():
        w, x = torch.ones(2, requires_grad=True), torch.zeros(2)
        x.add_(1)
        x.mul_(w)
        x.add_(1)
        with torch.no_grad():
            x.add_(2)

    assert edits(program) == [[["mul_", "add_"]]]


def test_edits_through_views():
    """They belong to the tensor itself, however it is viewed."""

    def program():
        w, x = torch.ones(2, requires_grad=True), torch.zeros(2, 2)
        x[0] = w
        x[1].add_(w)
        x.t().select(0, 1).mul_(w)

    assert edits(program) == [[["__setitem__", "add_", "mul_"]]]


def test_detached_aliases():
    """They have edits of their own, and give the tensor no history."""

    def program():
        w, x = torch.ones(2, requires_grad=True), torch.zeros(2)
        x.add_(w)
        x.detach().mul_(w)
        x.data[0] = w[1]

    assert sorted(edits(program)) == [[["__setitem__"]], [["add_"]], [["mul_"]]]


def test_history_that_is_taken_away():
    """`detach_()` begins anew."""

    def program():
        w, x = torch.ones(2, requires_grad=True), torch.zeros(2)
        x.add_(w)
        x.detach_()
        x.add_(w).add_(w)

    assert edits(program) == [[["add_"], ["add_", "add_"]]]


def test_memory_that_an_op_writes_beside_its_result():
    """Running statistics and a renormalised table are written where autograd records the result, not them."""

    def program():
        norm, table = torch.nn.BatchNorm1d(2), torch.nn.Embedding(3, 2, max_norm=0.5)
        norm(table(torch.tensor([0, 1])))

    assert edits(program) == []
