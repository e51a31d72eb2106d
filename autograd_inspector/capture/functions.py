"""Calls that no TorchFunctionMode shows: custom autograd.Functions, inference mode, NumPy in, collectives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from autograd_inspector.capture.ops import gather
from autograd_inspector.capture.patches import observed
from autograd_inspector.capture.regions import Regions
from autograd_inspector.capture.registry import version_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.op import Trait, Write

_COLLECTIVES = (
    "all_reduce all_gather all_gather_into_tensor all_gather_object broadcast reduce reduce_scatter "
    "reduce_scatter_tensor gather scatter all_to_all all_to_all_single recv"
).split()


class Unseen:
    """Observes, for one capture, the calls that bypass the torch-function mode."""

    def __init__(self, tape: Tape, regions: Regions, on_failure: Callable[[Exception], None]) -> None:
        self.tape = tape
        self.regions = regions
        self.on_failure = on_failure

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the wrappers in place, and the originals back on exit."""
        with ExitStack() as stack:
            stack.enter_context(self._apply())
            for method in ("__enter__", "__exit__"):
                stack.enter_context(
                    observed(torch.inference_mode, method, after=self._switched, guard=self._guard)
                )
            stack.enter_context(_replaced(torch, "from_numpy", self._from_numpy))
            if dist.is_available():
                for name in _COLLECTIVES:
                    if hasattr(dist, name):
                        stack.enter_context(_replaced(dist, name, functools.partial(self._collective, name)))
            yield

    def _guard(self, step: Callable[..., Any], *args: Any) -> Any:
        try:
            return step(*args)
        except Exception as failure:
            self.on_failure(failure)
            return None

    def _switched(self, *_: Any) -> None:
        if self.tape.active():
            self.regions.switch("torch.inference_mode()")

    @contextmanager
    def _apply(self) -> Iterator[None]:
        """Record ``Function.apply`` as one op; the ops of its forward get the trait INNER."""
        original = Function.__dict__["apply"]
        call = original.__func__
        tape = self.tape

        @functools.wraps(call)
        def apply(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not tape.active():
                return call(cls, *args, **kwargs)
            started = self._guard(self._starts, args, kwargs)
            traits = tape.traits
            tape.traits = traits | int(Trait.INNER)
            try:
                result = call(cls, *args, **kwargs)
            finally:
                tape.traits = traits
            if started is not None:
                self._guard(self._applied, cls, started, result)
            return result

        Function.apply = classmethod(apply)  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            Function.apply = original  # type: ignore[method-assign]

    def _starts(self, args: Any, kwargs: Any) -> Any:
        inputs: list[Tensor] = []
        gather((args, kwargs), inputs)
        tape = self.tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        alive = torch.is_grad_enabled() and any(e.requires_grad for e in entries)
        return inputs, entries, [version_of(t) for t in inputs], alive, torch.autograd._get_sequence_nr()

    def _applied(self, cls: type[Function], started: Any, result: Any) -> None:
        inputs, entries, versions, alive, first = started
        tape = self.tape
        now = len(tape.ops)
        outputs: list[Tensor] = []
        gather((result,), outputs)
        ids, connected = [], False
        for tensor in outputs:
            entry = tape.registry.enter(tensor, now, now)
            entry.requires_grad = tensor.requires_grad
            connected = connected or tensor.requires_grad
            ids.append(entry.tensor)
        traits = int(Trait.FUNCTION) | tape.traits
        if not connected and (alive or any(e.requires_grad for e in entries)):
            traits |= int(Trait.CUT)
        writes = tuple(
            Write(entry.tensor, entry.storage, before, version_of(tensor))
            for tensor, entry, before in zip(inputs, entries, versions, strict=True)
            if entry.tensor in ids and version_of(tensor) != before
        )
        last = torch.autograd._get_sequence_nr()
        site = tape.stacks.here(0)
        tape.ops.append(
            (
                f"{cls.__name__}.apply",
                tuple(e.tensor for e in entries),
                tuple(versions),
                tuple(ids),
                writes,
                site,
                tape.call,
                tape.region,
                traits,
                first,
                last,
                "",
            )
        )

    def _from_numpy(self, original: Callable[..., Any], array: Any) -> Any:
        result = original(array)
        if self.tape.active():
            self._guard(self._arrived, array, result)
        return result

    def _arrived(self, array: Any, result: Tensor) -> None:
        tape = self.tape
        entry = tape.registry.enter(result, len(tape.ops), len(tape.ops))
        index = tape.append("from_numpy", outputs=(entry.tensor,), site=tape.stacks.here(0))
        tape.exports.came_back(tape, index, (array,))

    def _collective(self, name: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.tape.active():
            return original(*args, **kwargs)
        inputs: list[Tensor] = []
        gather((args, kwargs), inputs)
        before = [version_of(t) for t in inputs]
        self.tape.recording = False  # torch.distributed hands some collectives to the torch-function mode as well.
        try:
            result = original(*args, **kwargs)
        finally:
            self.tape.recording = not self.tape.closed
        self._guard(self._communicated, name, inputs, before)
        return result

    def _communicated(self, name: str, inputs: list[Tensor], before: list[int]) -> None:
        """Everything but the local contribution is written, whether or not a counter moved."""
        tape = self.tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        alive = any(e.requires_grad for e in entries)
        written = [e for e, t, b in zip(entries, inputs, before, strict=True) if version_of(t) != b or not e.requires_grad]
        writes = tuple(Write(e.tensor, e.storage, -1, -1) for e in written)
        traits = int(Trait.COLLECTIVE) | (int(Trait.CUT) if alive else 0)
        tape.append(
            name,
            tuple(e.tensor for e in entries),
            tuple(e.tensor for e in written),
            writes,
            traits,
            tape.stacks.here(0),
            versions=tuple(before),
        )


@contextmanager
def _replaced(owner: Any, name: str, wrapper: Callable[..., Any]) -> Iterator[None]:
    """A module's function, called through ``wrapper(original, ...)``."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return wrapper(original, *args, **kwargs)

    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        if getattr(owner, name) is stand_in:
            setattr(owner, name, original)
