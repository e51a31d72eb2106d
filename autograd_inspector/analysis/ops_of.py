"""The ops of a capture that are of some kinds, or have some traits: looked up, not searched for."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait


def ops_of(capture: Capture, kinds: OpKind) -> Iterator[Op]:
    """The ops of one of those kinds, in program order."""
    return map(capture.ops.__getitem__, capture.op_index.called(lambda name: is_a(name, kinds)))


def any_of(capture: Capture, kinds: OpKind) -> bool:
    """Whether any op is of one of those kinds."""
    return any(is_a(name, kinds) for name in capture.op_index.by_name)


def calls_of(capture: Capture, *names: str) -> Iterator[Op]:
    """The ops of those names, in program order."""
    return map(capture.ops.__getitem__, capture.op_index.called(names.__contains__))


def differentiated(capture: Capture, kinds: OpKind) -> Iterator[Op]:
    """The ops of one of those kinds that made nodes of the graphs of the capture, in program order."""
    used = capture.op_index.in_graphs
    return (op for op in ops_of(capture, kinds) if op.index in used)


def having(capture: Capture, traits: Trait) -> Iterator[Op]:
    """The ops that have some of those traits, in program order."""
    return map(capture.ops.__getitem__, capture.op_index.having(traits))


def writing(capture: Capture) -> Iterator[Op]:
    """The ops that wrote to a tensor in place, in program order."""
    return map(capture.ops.__getitem__, capture.op_index.writing)


def raising(capture: Capture) -> Iterator[Op]:
    """The ops that raised, in program order."""
    return map(capture.ops.__getitem__, capture.op_index.raising)
