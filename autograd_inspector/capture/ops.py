"""One record per torch call, through a TorchFunctionMode.

This is the hot path: each call of the user's passes once through :meth:`Recorder.__torch_function__`. It never reads
``.grad_fn`` (a Node that has met Python is freed recursively), holds no tensor, and takes versions and metadata only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograd_inspector.capture.regions import Regions
from autograd_inspector.capture.registry import Entry
from autograd_inspector.capture.special import PASS, SPECIAL, name_of, silent_writes
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.op import Trait, Write

_grad_enabled = torch.is_grad_enabled
_inference = torch.is_inference_mode_enabled
_sequence = torch.autograd._get_sequence_nr
_autocast = torch._C._is_any_autocast_enabled
_ident = threading.get_ident
CUT, AUTOCAST = int(Trait.CUT), int(Trait.AUTOCAST)


class Recorder(TorchFunctionMode):
    """Writes one raw op per torch call to the tape; a failure of its own switches it off, never the program."""

    def __init__(self, tape: Tape, regions: Regions, on_failure: Callable[[Exception], None]) -> None:
        super().__init__()
        self.tape = tape
        self.regions = regions
        self.on_failure = on_failure

    def __torch_function__(  # type: ignore[override]
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func`` and record what it read, returned and modified."""
        kwargs = kwargs or {}
        tape = self.tape
        if func in PASS or not (tape.recording or tape.active()):
            return func(*args, **kwargs)
        special = SPECIAL.get(func)
        if special is not None:
            return special(self, func, args, kwargs)
        return self.record(func, args, kwargs, name_of(func))

    def record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, traits: int = 0) -> Any:
        """Call ``func`` as an op of that name."""
        tape = self.tape
        try:
            now = len(tape.ops)
            enter = tape.registry.enter
            inputs: list[Tensor] = []
            gather(args, inputs)
            if kwargs:
                gather(kwargs.values(), inputs)
            entries = [enter(t, -1, now) for t in inputs]
            versions = [_version(t) for t in inputs]
            grad, inference = _grad_enabled(), _inference()
            if (grad, inference) != self.regions.mode:
                self.regions.sync(grad, inference)
            first = _sequence()
        except Exception as failure:
            self.on_failure(failure)
            return func(*args, **kwargs)
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            self._failed(name, entries, versions, traits, error)
            raise
        try:
            self._append(func, name, args, kwargs, result, inputs, entries, versions, traits, first)
        except Exception as failure:
            self.on_failure(failure)
        return result

    def _append(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        inputs: list[Tensor],
        entries: list[Entry],
        versions: list[int],
        traits: int,
        first: int,
    ) -> None:
        tape = self.tape
        now = len(tape.ops)
        last = _sequence()
        alive = False
        writes: list[Write] = []
        for tensor, entry, before in zip(inputs, entries, versions, strict=True):
            alive = alive or entry.requires_grad
            after = _version(tensor)
            if after != before:
                entry.requires_grad = tensor.requires_grad
                writes.append(Write(entry.tensor, entry.storage, before, after))
        writes += silent_writes(tape, func, args, kwargs)
        outputs: list[Tensor] = []
        if isinstance(result, Tensor):
            outputs.append(result)
        else:
            gather((result,), outputs)
            if not outputs and not writes:
                return
        connected = False
        ids = []
        for tensor in outputs:
            entry = tape.registry.enter(tensor, now, now)
            entry.requires_grad = tensor.requires_grad
            ids.append(entry.tensor)
            connected = connected or entry.requires_grad
        if alive and not connected and not any(e.requires_grad for e in _written(entries, writes)):
            traits |= CUT
        if _autocast():
            traits |= AUTOCAST
        if _ident() != tape.thread:
            first = last = -1
        tape.ops.append(
            (
                name,
                tuple([e.tensor for e in entries]),
                tuple(versions),
                tuple(ids),
                tuple(writes),
                tape.stacks.here(3),
                tape.call,
                tape.region,
                traits | tape.traits,
                first,
                last,
                "",
            )
        )

    def _failed(self, name: str, entries: list[Entry], versions: list[int], traits: int, error: BaseException) -> None:
        """Keep the call that raised, with what it was given."""
        try:
            tape = self.tape
            tape.append(
                name,
                tuple(e.tensor for e in entries),
                traits=traits,
                site=tape.stacks.here(3),
                error=f"{type(error).__name__}: {error}"[:2000],
                versions=tuple(versions),
            )
        except Exception as failure:
            self.on_failure(failure)


def gather(values: Any, into: list[Tensor]) -> None:
    """Collect the tensors among arguments, also inside lists, tuples and dicts."""
    for value in values:
        if isinstance(value, Tensor):
            into.append(value)
        elif isinstance(value, (list, tuple)):
            gather(value, into)
        elif isinstance(value, dict):
            gather(value.values(), into)


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:
        return -1


def _written(entries: list[Entry], writes: list[Write]) -> list[Entry]:
    if not writes:
        return []
    touched = {w.tensor for w in writes}
    return [e for e in entries if e.tensor in touched]
