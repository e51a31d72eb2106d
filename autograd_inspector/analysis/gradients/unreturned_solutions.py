"""Hooks that solve for the gradient of their tensor, and do not return it: backward goes on with the old one.

A hook that only looks at gradients does not differentiate for a summand of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import HookEnds

_DIFFERENTIATES = "grad"


class UnreturnedSolution(Struct, frozen=True):
    """``solved`` adds the gradient that a hook was given to what ``asked`` returned; nothing reads the sum outside."""

    hooks: tuple[TensorHook, ...]
    ends: HookEnds
    asked: Op
    solved: Op


def unreturned_solutions(analysis: Analysis) -> Iterator[UnreturnedSolution]:
    """One for each hook that returns nothing."""
    capture = analysis.capture
    for ends in capture.events_of(HookEnds):
        hooks = tuple(hook for hook in capture.tensor_hooks if hook.name == ends.name and not hook.post)
        if hooks:
            found = _found(analysis, hooks, ends)
            if found is not None:
                yield found


def _found(analysis: Analysis, hooks: tuple[TensorHook, ...], ends: HookEnds) -> UnreturnedSolution | None:
    capture, tensors = analysis.capture, analysis.capture.tensors
    shapes = {tensors[hook.tensor].shape for hook in hooks}
    place = capture.place(ends.site)
    function = "" if place is None else place.function
    asked = solved = None
    within: set[int] = set()
    computed: set[int] = set()
    """Gradients that the hook asked for, and what is computed of them."""
    for op in having(capture, Trait.BACKWARD):
        if not any(f.function == function for f in capture.site(op.site)):
            continue
        within.add(op.index)
        if op.name == _DIFFERENTIATES:
            asked = op
        elif computed.isdisjoint(op.inputs):
            continue
        elif not computed.issuperset(write.tensor for write in op.writes):
            return None  # It is put somewhere.
        elif asked is not None and is_a(op.name, OpKind.ADDS) and any(_given(analysis, t, shapes) for t in op.inputs):
            solved = op
        computed.update(op.outputs)
    readers = {at for tensor in computed for at in capture.readers.get(tensor, ())}
    stored = computed.intersection(write.gradient for write in capture.grad_writes)
    if asked is None or solved is None or stored or not readers <= within:
        return None
    return UnreturnedSolution(hooks, ends, asked, solved)


def _given(analysis: Analysis, tensor: int, shapes: set[tuple[int, ...]]) -> bool:
    """Whether it may be the gradient that the hook was called with, which no op has made."""
    record = analysis.capture.tensors[tensor]
    return record.shape in shapes and not record.requires_grad and analysis.flow.birth(tensor) is None
