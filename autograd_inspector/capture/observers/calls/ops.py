"""One record per torch call, through a TorchFunctionMode.

This is the hot path: each call of the user's passes once through :meth:`Recorder.__torch_function__`. It never reads
``.grad_fn`` (a Node that has met Python is freed recursively), holds no tensor, and takes versions and metadata only.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import FrameType
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.calls.arguments import PLAIN, gather, note_numbers
from autograd_inspector.capture.observers.calls.below import is_below
from autograd_inspector.capture.observers.calls.default_dtype import FACTORIES
from autograd_inspector.capture.observers.calls.effects import apart, keeps_gradient, untracked, writes_of
from autograd_inspector.capture.observers.calls.regions import Regions, is_undoing
from autograd_inspector.capture.observers.calls.special import FUNCTIONS, PASS, SPECIAL, factory, is_torchs, name_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.registry import Entry
from autograd_inspector.capture.tensors.attributes import needs_grad, version_of
from autograd_inspector.capture.torch_private.calls import under_transform
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.capture.torch_private.modes import (
    DisableTorchFunction,
    EnableTorchFunction,
    all_disabled,
    any_autocast,
    below_autograd,
    is_tracing,
    mode_depth,
    set_grad_enabled,
    subclasses_enabled,
)
from autograd_inspector.capture.torch_private.tensors import base_of, version_counter
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.mode_stack import HiddenMode
from autograd_inspector.capture.vitals.functions import MEASURED
from autograd_inspector.messages import text_of
from autograd_inspector.model.op import Trait, Write
from autograd_inspector.model.torch_errors import TorchError, says

_grad_enabled = torch.is_grad_enabled
_grad_modes = iter(_grad_enabled, None)
"""The grad mode, again and again."""
_inference = torch.is_inference_mode_enabled
_ident = threading.get_ident
_frame = sys._getframe
CUT, AUTOCAST, BACKWARD = int(Trait.CUT), int(Trait.AUTOCAST), int(Trait.BACKWARD)
NO_WRITES: tuple[Write, ...] = ()


class Recorder(HiddenMode):
    """Writes one raw op per torch call to the recording; a failure of its own switches it off, never the program."""

    handler: ClassVar[Any] = None
    """Makes what stands for ``__torch_function__`` in C, where compiled; unusual calls come to the method."""

    def __init__(self, recording: Recording, regions: Regions, guard: Guard) -> None:
        super().__init__()
        self.recording = recording
        self.regions = regions
        self.guard = guard
        self.on_failure = guard.on_failure
        self._names: dict[Any, str] = {}
        """The functions of torch's met so far that are plain ops, by name: one look-up decides for them."""
        if self.handler is not None:
            self.__dict__["__torch_function__"] = self.handler(self)

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether its capture is over."""
        return self.recording.closed

    def __torch_function__(  # noqa: C901, PLR0911 - the hot path, too
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call ``func`` and record what it read, returned and modified."""
        if kwargs is None:
            kwargs = {}
        recording = self.recording
        still = recording.still
        if still is not None and func is not set_grad_enabled:
            frame: FrameType | None = _frame(1)
            while frame is not None:
                if frame is still:
                    return func(*args, **kwargs)
                frame = frame.f_back
        of_torch = id(type(func)) in FUNCTIONS
        if (of_torch and func in PASS) or not (recording.recording or recording.active()):
            if func is not set_grad_enabled:
                if recording.watch is not None:
                    return recording.watch(func, args, kwargs)
                return func(*args, **kwargs)
            for before in _grad_modes:  # noqa: B007 - read without a call, after which an interrupt could strike
                break
            try:
                result = func(*args, **kwargs)
                self._switched()
            except BaseException:
                if not is_undoing(_frame(1)):
                    func(before)
                raise
            return result
        if (types and overrides(types)) or mode_depth() or is_tracing():
            return self._beside_others(func, args, kwargs)
        name = self._names.get(func) if of_torch else None
        if name is not None and not recording.traits:
            return self.record(func, args, kwargs, name, frame=_frame(1))
        return self._sort_out(func, args, kwargs)

    def _switched(self) -> None:
        """The grad mode was switched, before anything else here: an interrupt must not keep a block from its end.

        One that strikes now keeps a block from its beginning: then the mode is switched back.
        """
        recording = self.recording
        if not (recording.recording or recording.active()) or is_tracing():
            return
        if not (recording.traits & BACKWARD and (below_autograd() or is_below(_frame(2)))):
            self.guard.run(self.regions.grad_mode_set)

    def _beside_others(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The program's own modes and tensor subclasses must not see us look: only the call itself is theirs.

        While torch.jit traces, looking at a tensor's shape would become part of the traced program.
        """
        if is_tracing():
            return func(*args, **kwargs)
        if not subclasses_enabled():
            return self._sort_out(func, args, kwargs)
        with DisableTorchFunction():
            return self._sort_out(func, args, kwargs)

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program's own call, with the modes and subclasses on that were on when it was made."""
        if all_disabled():
            with EnableTorchFunction():
                return func(*args, **kwargs)
        return func(*args, **kwargs)

    def forget(self, functions: Iterable[Any]) -> None:
        """Sort these out again when they are called: what is known of the usual ones may have changed."""
        for function in functions:
            self._names.pop(function, None)

    def _sort_out(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle specially or record."""
        recording = self.recording
        if recording.traits & BACKWARD and (below_autograd() or is_below(_frame(1))):
            return self.call(func, args, kwargs)  # A kernel in Python, a subclass at work, or compiled code.
        special = SPECIAL.get(func) if id(type(func)) in FUNCTIONS else None
        if special is not None:
            return special(self, func, args, kwargs)
        name = name_of(func)
        if is_torchs(func):
            if recording.default_dtype is not None and func in FACTORIES:
                return factory(self, func, args, kwargs)
            self._names[func] = name
        return self.record(func, args, kwargs, name)

    def record(  # noqa: C901, PLR0912, PLR0915 - the hot path: each call that it would make costs every op
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
        traits: int = 0,
        frame: FrameType | None = None,
        silent: Callable[[], list[Write]] | None = None,
    ) -> Any:
        """Call ``func`` as an op of that name. ``silent`` tells the writes that moved no version counter."""
        recording = self.recording
        try:
            inputs: list[Tensor] = []
            odd = False
            for value in args:
                kind = type(value)
                if kind is Tensor or kind is Parameter:
                    inputs.append(value)
                elif id(kind) not in PLAIN and gather((value,), inputs):
                    odd = True
            if kwargs and gather(kwargs.values(), inputs):
                odd = True
            registry = recording.registry
            by_address = registry.by_address
            entries: list[Entry] = []
            numbers: list[int] = []
            alive = False
            for tensor in inputs:
                entry = by_address.get(id(tensor))
                if entry is None or entry() is not tensor:
                    entry = registry.add(tensor, -1, len(recording.ops))
                entries.append(entry)
                numbers.append(entry.tensor)
                if entry.requires_grad:
                    alive = True
                if entry.untracked:
                    odd = True
            try:
                versions = tuple(map(version_of if odd else version_counter, inputs))
            except RuntimeError:
                versions, odd = untracked(inputs, entries), True
            mode = (_grad_enabled(), _inference())
            if mode != self.regions.mode:
                self.regions.sync(*mode)
            first = sequence_number()
        except RecursionError:
            recording.out_of_stack = True
            return self.call(func, args, kwargs)
        except Exception as failure:
            self.on_failure(failure)
            return self.call(func, args, kwargs)
        try:
            result = self.call(func, args, kwargs) if frame is None else func(*args, **kwargs)
        except BaseException as error:
            self._failed(name, inputs, entries, versions, traits, error)
            raise
        try:
            last = sequence_number()
            try:
                after = tuple(map(version_of if odd else version_counter, inputs))
            except RuntimeError:
                after = tuple(map(version_of, inputs))
            writes = NO_WRITES if after == versions else writes_of(inputs, entries, versions, after)
            if silent is not None:
                writes = (*writes, *silent())
            ops = recording.ops
            now = ops.start + len(ops.recent)
            connected = False
            result_tensors: list[Tensor] = []
            if type(result) is Tensor:
                entry = by_address.get(id(result))
                if entry is None or entry() is not result:
                    entry = registry.add(result, now, now)
                else:
                    entry.requires_grad = result.requires_grad
                connected = entry.requires_grad
                outputs: tuple[int, ...] = (entry.tensor,)
            else:
                gather((result,), result_tensors)
                if not result_tensors and not writes:
                    registry.looked_at.update(numbers)
                    return result
                outputs = ()
                for tensor in result_tensors:
                    entry = registry.enter(tensor, now, now)
                    entry.requires_grad = tensor.requires_grad if type(tensor) is Tensor else needs_grad(tensor)
                    connected = connected or entry.requires_grad
                    outputs += (entry.tensor,)
            if alive and not connected and under_transform():
                connected = registry.reread(outputs)
            if alive and connected:
                if not (mode[0] or writes or last > first) and apart(numbers, outputs):
                    traits |= CUT
            elif alive and not keeps_gradient(registry.entries, writes):
                traits |= CUT
            if any_autocast():
                traits |= AUTOCAST
            if recording.values is not None:
                results = [result] if type(result) is Tensor else result_tensors
                recording.values.op(now, inputs, entries, zip(outputs, results, strict=True), name, writes)
            if recording.traits and _ident() != recording.thread:
                first, last = recording.numbered(first, last)
            ops.append(
                (
                    name,
                    tuple(numbers),
                    versions if any(versions) else _zeros(len(versions)),
                    outputs,
                    writes,
                    recording.stacks.at(frame if frame is not None else _frame(1)),
                    recording.call,
                    recording.region,
                    traits | recording.traits,
                    first,
                    last,
                    "",
                )
            )
            if recording.vitals is not None and name in MEASURED:
                recording.activated(name, (result,) if type(result) is Tensor else result_tensors)
            if writes and (kwargs or len(args) > 1):
                note_numbers(recording, now, args, kwargs)
            elif name in SCALES and args and not kwargs and type(args[-1]) in NUMBERS:
                recording.scales[now] = args[-1]
            elif kwargs and "alpha" in kwargs:
                note_numbers(recording, now, args, kwargs)
            if recording.exports.numbers or recording.exports.common:
                recording.exports.used(recording, now, (*args, *kwargs.values()), frame)
        except RecursionError:
            recording.out_of_stack = True
        except Exception as failure:
            self.on_failure(failure)
        except BaseException:
            recording.struck = True
            raise
        return result

    def _failed(
        self,
        name: str,
        inputs: list[Tensor],
        entries: list[Entry],
        versions: tuple[int, ...],
        traits: int,
        error: BaseException,
    ) -> None:
        """Keep the call that raised, with what it was given and what it wrote before it raised."""
        recording = self.recording
        try:
            after = tuple(map(version_of, inputs))
            text = text_of(error)
            if says(text, TorchError.VIEW_OF_LEAF):
                recording.adopt(
                    [base for base in map(base_of, inputs[:1]) if base is not None]
                )  # A model may never have run.
            recording.append(
                name,
                tuple(e.tensor for e in entries),
                writes=writes_of(inputs, entries, versions, after),
                traits=traits,
                error=text,
                versions=versions,
            )
        except RecursionError:
            recording.out_of_stack = True
        except Exception as failure:
            self.on_failure(failure)
        except BaseException:
            recording.struck = True
            raise


def overrides(types: Iterable[type]) -> bool:
    """Whether a class overrides anything: torch's functions written in Python name the plain ones, too."""
    return any(kind is not Tensor and kind is not Parameter for kind in types)


@lru_cache(maxsize=64)
def _zeros(count: int) -> tuple[int, ...]:
    """The versions of inputs that were never modified, which most are: one tuple for all ops."""
    return (0,) * count


NUMBERS = Kinds(float, int)
SCALES = frozenset({"mul", "div"})
"""Of what computes an operand these tell how often it is added; more would cost every op."""
