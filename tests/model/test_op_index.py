"""Ops by what they are called and by what they are: the same as a look at each of them."""

from __future__ import annotations

import random

import pytest

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import any_of, calls_of, differentiated, having, ops_of, raising, writing
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait, Write

_NAMES = ["add", "sub", "detach", "mse_loss", "relu", "unheard_of"]
_KINDS = [OpKind.ADDS, OpKind.ADDS | OpKind.SUBTRACTS, OpKind.DETACHES | OpKind.MEASURES, OpKind.DRAWS]
_TRAITS = [Trait.CUT, Trait.BACKWARD, Trait.STEP | Trait.BACKWARD, Trait.FUNCTION]


def drawn_capture(seed):
    """A capture of ops of a few names, some of which write, raise, or made nodes."""
    drawn = random.Random(seed)
    ops = tuple(
        Op(
            index,
            drawn.choice(_NAMES),
            (),
            (),
            (),
            0,
            traits=drawn.choice([0, 0, Trait.CUT, Trait.BACKWARD, Trait.CUT | Trait.STEP]),
            writes=(Write(0, 0, 0, 1),) if drawn.random() < 0.3 else (),
            error="refused" if drawn.random() < 0.1 else "",
        )
        for index in range(drawn.randrange(60))
    )
    made = [op.index for op in ops if drawn.random() < 0.5]
    nodes = tuple(Node(number, "AddBackward0", number, (), op) for number, op in enumerate([*made, -1]))
    return Capture(ops=ops, nodes=nodes), frozenset(made)


@pytest.mark.parametrize("seed", range(10))
def test_a_selection_has_the_ops_of_a_scan_in_program_order(seed):
    """By kind, by name, by trait, and those that write or raise."""
    capture, made = drawn_capture(seed)
    ops = capture.ops
    for kinds in _KINDS:
        wanted = [op for op in ops if is_a(op.name, kinds)]
        assert [*ops_of(capture, kinds)] == wanted
        assert any_of(capture, kinds) == bool(wanted)
        assert [*differentiated(capture, kinds)] == [op for op in wanted if op.index in made]
    for traits in _TRAITS:
        assert [*having(capture, traits)] == [op for op in ops if op.has(traits)]
    assert [*calls_of(capture, "add", "relu")] == [op for op in ops if op.name in {"add", "relu"}]
    assert [*writing(capture)] == [op for op in ops if op.writes]
    assert [*raising(capture)] == [op for op in ops if op.error]


def test_a_selection_is_made_once():
    """Whoever asks for the same ops again is given the same numbers, also by another mask of the same names."""
    index = drawn_capture(1)[0].op_index
    assert index.having(Trait.CUT) is index.having(Trait.CUT)
    assert index.called({"add", "sub"}.__contains__) is index.called({"sub", "add", "not there"}.__contains__)
