"""Equal numbers of a capture are one object, and say what they always said."""

from __future__ import annotations

import sys
from itertools import pairwise

import torch

from .observe import observe

FEWER_INTEGERS = 2.5
"""Objects an op, where each record had its own there were more than eight."""


def chain():
    x = torch.ones(4, requires_grad=True)
    for _ in range(600):
        x = x * 2
    x.sum().backward()


def accumulated():
    w = torch.ones(4, requires_grad=True)
    for _ in range(200):
        (w * 2).sum().backward()


def integers(capture):
    """The integers above those that Python keeps anyway, in the records of ops, tensors and nodes."""
    fields = [getattr(record, name) for record in _records(capture) for name in record.__struct_fields__]
    inside = [number for op in capture.ops for number in (*op.inputs, *op.outputs)]
    edges = [number for node in capture.nodes for edge in node.edges for number in edge]
    return [value for value in (*fields, *inside, *edges) if type(value) is int and 256 < value < sys.maxsize]


def _records(capture):
    return [*capture.ops, *capture.tensors, *capture.nodes]


def test_a_number_is_one_object():
    """Of an op, its node and its tensor hardly more than two integers are kept."""
    capture = observe(chain)
    found = integers(capture)
    assert len(found) > 8 * len(capture.ops) * 0.5
    assert len({id(number) for number in found}) < FEWER_INTEGERS * len(capture.ops)


def test_the_tuples_of_two_ops_are_one():
    """What one op returned and the next one reads is written down once."""
    first, second, *_ = [op for op in observe(chain).ops if op.name == "mul"]
    assert first.outputs == second.inputs
    assert first.outputs is second.inputs


def test_names_of_nodes_are_shared_by_walks():
    """Each backward walks a graph of its own; equal names of nodes are one object."""
    names = [node.name for node in observe(accumulated).nodes]
    assert names.count("MulBackward0") == 200
    assert len({id(name) for name in names}) == len(set(names)) == 3


def test_the_records_are_right():
    """Indices, sequence numbers and edges lead where they have to."""
    capture = observe(chain)
    assert [op.index for op in capture.ops] == [*range(len(capture.ops))]
    assert [tensor.id for tensor in capture.tensors] == [*range(len(capture.tensors))]
    assert [node.index for node in capture.nodes] == [*range(len(capture.nodes))]
    for node in capture.nodes:
        if node.op >= 0:
            op = capture.ops[node.op]
            assert op.first_seq <= node.seq < op.last_seq
        for child, _ in node.edges:
            below = capture.nodes[child]
            assert below.leaf or below.seq < node.seq
    muls = [op for op in capture.ops if op.name == "mul"]
    assert all(after.inputs == before.outputs for before, after in pairwise(muls))
