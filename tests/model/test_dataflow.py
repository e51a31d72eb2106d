"""Who made the value that an op reads: over long programs in work that grows as they do."""

import torch

import autograd_inspector
from autograd_inspector.analysis.dataflow import DataFlow
from tests.growth.counting import lines


def inspected(program):
    with autograd_inspector.inspect() as inspection:
        program()
    return inspection.report.capture


def made_by(capture, name, nth=0):
    """(the first tensor that an op of that name read, the op)."""
    op = [op for op in capture.ops if op.name == name][nth]
    return op.inputs[0], op.index


def names(capture, indices):
    return [capture.ops[index].name for index in indices]


def test_a_value_comes_from_its_birth_and_the_writes_since():
    """Through the tensor, through a view of the same bytes; not through a view of others."""

    def program():
        x = torch.zeros(4)
        x[:2].exp_()
        x[2:].neg_()
        (x[:2]).cos()

    capture = inspected(program)
    flow = DataFlow(capture)
    view, at = made_by(capture, "cos")
    source, born = made_by(capture, "__getitem__", nth=2)
    assert names(capture, flow.producers(view, at)) == ["__getitem__"]
    assert names(capture, flow.producers(source, born)) == ["neg_", "exp_", "zeros"]


def test_a_write_that_reads_what_it_writes_hides_what_came_before():
    """It has it all from its own input."""

    def program():
        x = torch.zeros(4)
        x.exp_()
        x.neg_()
        x.cos()

    capture = inspected(program)
    assert names(capture, DataFlow(capture).producers(*made_by(capture, "cos"))) == ["neg_"]


def test_what_detaches_in_place_hides_what_came_before():
    """`detach_()` writes no memory, and ends a history all the same."""

    def program():
        x = torch.zeros(4, requires_grad=True) * 2
        x.detach_()
        x.cos()

    capture = inspected(program)
    assert names(capture, DataFlow(capture).producers(*made_by(capture, "cos"))) == ["detach_"]


def test_a_parameter_comes_from_the_memory_that_it_wraps():
    """No op returned it; what made its memory did."""

    def program():
        weight = torch.nn.Parameter(torch.ones(4))
        weight.cos()

    capture = inspected(program)
    flow, (weight, at) = DataFlow(capture), made_by(capture, "cos")
    assert names(capture, flow.producers(weight, at)) == ["ones"]
    assert flow.birth(weight).name == "ones"


def aliased(rounds):
    """A leaf of which a detached alias is made again and again, and which is read in between."""
    x = torch.ones(4, requires_grad=True)
    return lambda: [(x.detach() * x).sum() for _ in range(rounds)]


def overwritten(rounds):
    """A tensor whose memory is written through an alias again and again, and which is read in between."""
    x = torch.ones(4, requires_grad=True)

    def program():
        for _ in range(rounds):
            x.data.mul_(0.5)
            (x * 2).sum()

    return program


def test_aliases_of_a_tensor_cost_its_readers_nothing():
    """Twice the reads take twice the work, however many aliases were made before each."""

    def work(rounds):
        capture = inspected(aliased(rounds))
        flow = DataFlow(capture)
        return lines(lambda: [flow.producers(t, op.index) for op in capture.ops for t in op.inputs]).total()

    assert work(80) < 2.2 * work(40)


def test_a_walk_goes_through_the_writes_of_a_tensor_once():
    """However many ops read it, each after one more write."""

    def work(rounds):
        capture = inspected(overwritten(rounds))
        flow, end = DataFlow(capture), len(capture.ops)
        starts = [(op.outputs[0], end) for op in capture.ops if op.name == "sum"]
        found = []
        return lines(lambda: found.extend(flow.upstream(starts))).total(), len(found)

    (small, few), (large, many) = work(40), work(80)
    assert many == 2 * few
    assert large < 2.2 * small
