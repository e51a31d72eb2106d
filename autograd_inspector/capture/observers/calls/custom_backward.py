"""What the backward of a custom autograd.Function did: to the gradients that it was given, and what it returned."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.observers.calls.mixed_calls import MixedCalls
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_LAST, OP_NAME, OP_SITE, OP_WRITES, RawOp
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import shape_of, version_of
from autograd_inspector.capture.torch_private.graph import function_of
from autograd_inspector.capture.torch_private.tensors import holders_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.event import NoneGradient
from autograd_inspector.model.program_events import GradientModified, GradientsReturned


class _Given(NamedTuple):
    """Each gradient with its version and how many held it, and how many ops had run."""

    at: int
    gradients: list[tuple[Tensor, int, int]]


class CustomBackward:
    """Observes, for one capture, the call through which the engine runs a Function's backward."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard
        self._told: set[tuple[int, str, bool | None]] = set()
        self._placed: set[str] = set()
        """The Functions of which it is noted what they returned."""
        self._mixed = MixedCalls(recording)

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, BackwardCFunction, "apply", self)

    def before(self, seen: list[Any], node: Any, /, *gradients: Any) -> None:
        """The engine calls the node of a Function."""
        # Only where a Function asked for it, by set_materialize_grads(False), does nothing come as None.
        nothing = sum(gradient is None for gradient in gradients)
        given = self._guard.run(self._given, gradients) if self.recording.here() else None
        seen += (node, given, nothing, nothing < len(gradients))

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """Its backward returned."""
        if self.recording.here():
            self._guard.run(self._returned, seen[0], result, seen[2], seen[3])
            if seen[1] is not None:
                self._guard.run(self._compare, seen[0], seen[1])
                self._guard.run(self._place, seen[0], seen[1], result)
                self._guard.run(self._mixed.look, _name(seen[0]), seen[0]._sequence_nr(), seen[1].at, result)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """Its backward raised: nothing came back."""

    def _given(self, gradients: tuple[Any, ...]) -> _Given:
        now = len(self.recording.ops)
        # What a second derivative needs is held as well, and checked by autograd itself.
        counts = not torch.is_grad_enabled()
        tensors = [gradient for gradient in gradients if type(gradient) is Tensor]
        return _Given(now, [(t, version_of(t), holders_of(t) if counts else 0) for t in tensors])

    def _compare(self, node: Any, given: _Given) -> None:
        """Whether it modified what it was given."""
        recording = self.recording
        for tensor, version, holders in given.gradients:
            if version_of(tensor) == version:
                continue
            storage = recording.registry.storage_of(tensor)
            ops = [op for _, op in recording.ops.items(given.at) if any(w.storage == storage for w in op[OP_WRITES])]
            code = code_of(getattr(function_of(type(node)), "backward", None))
            site = ops[0][OP_SITE] if ops else -1 if code is None else recording.stacks.of_code(code)
            name = _name(node)
            shared = None if not holders or self._begins(node) else holders > 1
            if (site, name, shared) not in self._told:
                self._told.add((site, name, shared))
                recording.events.append(GradientModified(given.at, site, name, shared))

    def _place(self, node: Any, given: _Given, result: Any) -> None:
        """Note once what a Function returned for which input, where it may have mistaken one for another."""
        name = _name(node)
        if name in self._placed or not isinstance(result, tuple):
            return
        wanted = [(place, result[place]) for place, need in enumerate(node.needs_input_grad[: len(result)]) if need]
        shapes = [shape_of(gradient) for _, gradient in wanted if type(gradient) is Tensor]
        if len(shapes) < len(wanted) or len(set(shapes)) == len(shapes):
            return
        self._placed.add(name)
        recording, seq = self.recording, node._sequence_nr()
        applied = next((i for i, op in recording.ops.items() if _is_of(op, name, seq)), -1)
        if applied >= 0:
            recording.events.append(
                GradientsReturned(
                    given.at,
                    recording.ops[applied][OP_SITE],
                    name,
                    applied,
                    len(recording.ops),
                    tuple(recording.id_of(gradient) for gradient, _, _ in given.gradients),
                    tuple(recording.id_of(gradient) for _, gradient in wanted),
                    tuple(place for place, _ in wanted),
                )
            )

    def _begins(self, node: Any) -> bool:
        """Whether the run begins with the node: its gradient is the caller's."""
        recording = self.recording
        roots = recording.backwards[recording.running[-1]].graph.roots if recording.running else ()
        return any(recording.recorded.nodes[root].seq == node._sequence_nr() for root in roots)

    def _returned(self, node: Any, result: Any, nothing: int, some: bool) -> None:  # noqa: FBT001
        """Note the inputs without a gradient, unless as many outputs got none: that is passed on, perhaps.

        Not so where ``some`` output got one, and no input did, although all tensors among them need one.
        """
        gradients = result if isinstance(result, (tuple, list)) else (result,)
        needed = node.needs_input_grad
        wanted = [pair for pair, need in zip(enumerate(gradients), needed, strict=False) if need]
        missing = tuple(number for number, (_, gradient) in enumerate(wanted) if gradient is None)
        dropped = some and len(missing) == len(wanted) == len(node.next_functions)
        if len(missing) > nothing or (dropped and missing):
            gap = NoneGradient(node._sequence_nr(), missing, tuple(wanted[number][0] for number in missing))
            self.recording.none_gradients.pop(gap, None)
            self.recording.none_gradients[gap] = None


def _name(node: Any) -> str:
    return type(node).__name__.removesuffix("Backward")


def _is_of(op: RawOp, function: str, seq: int) -> bool:
    """Whether an op applied that Function, and made the node of that sequence number."""
    return op[OP_FIRST] <= seq < op[OP_LAST] and op[OP_NAME] == f"{function}.apply"
