"""Which tensors were computed alike, so that nobody can tell without their values whether they differ."""

import pytest
import torch

import autograd_inspector
from autograd_inspector.analysis.computations import Computations
from autograd_inspector.analysis.dataflow import DataFlow
from tests.growth.counting import lines


def compared(capture):
    """The computation of what each of the last two calls of `neg` read."""
    computations = Computations(DataFlow(capture))
    read = [(op.inputs[0], op.versions[0]) for op in capture.ops if op.name == "neg"][-2:]
    return [computations.of(*each) for each in read]


def inspected(program):
    x, y = torch.rand(4, 4), torch.rand(4, 4)
    with autograd_inspector.inspect() as inspection:
        one, other = program(x, y)
        torch.neg(one)
        torch.neg(other)
    return inspection.report.capture


def doubled(x, times):
    for _ in range(times):
        x = x + x
    return x


ALIKE = {
    "one tensor": lambda x, y: (x, x),
    "the same op of the same tensors": lambda x, y: (x * y, x * y),
    "the same ops in turn": lambda x, y: ((x * y).exp().sum(), (x * y).exp().sum()),
    "the same part of the same tensor": lambda x, y: (x.chunk(2)[1], x.chunk(2)[1]),
    "a tensor and what it became": lambda x, y: (x, x.add_(y)),
    "further back than is looked": lambda x, y: (doubled(x, 9), doubled(y, 9)),
}

DIFFERENT = {
    "two tensors": lambda x, y: (x, y),
    "another op": lambda x, y: (x * y, x / y),
    "the operands exchanged": lambda x, y: (x - y, y - x),
    "another tensor at the far end": lambda x, y: (x.exp().sum(), y.exp().sum()),
    "another part of the same tensor": lambda x, y: (x.chunk(2)[0], x.chunk(2)[1]),
    "one op more": lambda x, y: (x.exp(), x.exp().exp()),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_was_computed_alike_has_one_number(name):
    """The calls cannot tell whether two such tensors differ."""
    one, other = compared(inspected(ALIKE[name]))
    assert one == other


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_was_computed_otherwise_has_a_number_of_its_own(name):
    """Two tensors with different origins are two operands."""
    one, other = compared(inspected(DIFFERENT[name]))
    assert one != other


def nested(tensors):
    """Lines that are run to look up tensors of calls that each read them all, six calls deep."""

    def program(x, y):
        many = [x.clone() for _ in range(tensors)]
        for _ in range(7):
            many = list(torch._foreach_add(many, many))
        return many[0], many[-1]

    capture = inspected(program)
    return lines(lambda: compared(capture)).total()


def test_calls_that_read_many_tensors_are_looked_up_once():
    """Four times the tensors take four times the work, however deep calls of theirs are nested."""
    nested(2)
    assert nested(64) < 5 * nested(16)
