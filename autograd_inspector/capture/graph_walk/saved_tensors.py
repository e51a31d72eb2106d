"""What autograd nodes saved for backward -> records, read at each node of each walk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.nn import Parameter

from autograd_inspector.capture.graph_walk.ctx import ctx_tensors
from autograd_inspector.capture.graph_walk.verdicts import STATISTICS, freed, tells_of, unused, verify
from autograd_inspector.capture.recording.raw_records import OP_OUTPUTS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import device_of, dtype_of, shape_of, span_of, version_of
from autograd_inspector.capture.torch_private.compiled import is_stand_in
from autograd_inspector.capture.torch_private.graph import RAW, RAW_OF_FUNCTIONS, SAVED_READABLE, UNPACKED
from autograd_inspector.capture.torch_private.modes import has_dispatch_modes
from autograd_inspector.capture.torch_private.tensors import is_symbolic, storage_address
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import message_of
from autograd_inspector.model.autograd import SavedStatus, SavedTensor

_OF_FUNCTIONS = ((RAW_OF_FUNCTIONS, RAW_OF_FUNCTIONS.removeprefix(RAW)),)
_NONE: tuple[SavedTensor, ...] = ()


class SavedTensors:
    """Reads them, for one walk. The ledger has taken in all ops.

    ``late``: the run that they were saved for has begun, so that what is freed is told of every node.
    """

    def __init__(self, recording: Recording, *, late: bool = False) -> None:
        self._recording = recording
        self._late = late
        self._alone = not has_dispatch_modes()
        """No code of the program's can run where autograd is asked of a plain tensor."""
        self._aliased = recording.ledger.has_aliases
        self._by_address, self._storages = recording.registry.by_address, recording.registry.storages
        self._first, self._moves = recording.ledger.first, recording.ledger.moves
        self._plans: dict[type, tuple[tuple[str, str], ...]] = {}
        self.idle: set[type] = set()
        """Kinds of nodes that save nothing: most of a graph's, of which nothing is to be asked again."""
        self._shapes: dict[Any, tuple[int, ...]] = {}
        """Equal ones are kept once."""
        self._dtypes: dict[torch.dtype, tuple[str, int]] = {}
        """The name of each, and the bytes of one number."""
        self._told: dict[tuple[str, int], SavedTensor] = {}
        """(name, tensor) -> what was told of it: a weight is saved at each step of a loop."""

    def of(self, node: Any, made: tuple[int, int]) -> tuple[SavedTensor, ...]:  # noqa: C901 - for every node
        """What a node saved; ``made``: the op that made it, and how many ops had run by then."""
        kind = type(node)
        plan = self._plans[kind] if kind in self._plans else self._plan(kind)
        if not plan:
            return _NONE
        saved: list[SavedTensor] = []
        for attribute, name in plan:
            try:
                raw = getattr(node, attribute)
            except RuntimeError as error:
                if (self._late or made[0] < 0) and "freed" in message_of(error):
                    saved.append(freed(name))
                continue  # A custom Function that saved nothing, or one whose buffers backward has freed.
            if type(raw) is tuple or type(raw) is list:
                # The node tells of all of them at once: of one without a hook it would run the hooks of the others.
                ask = all(item.unpack_hook is None for item in raw)
                for number, item in enumerate(raw):
                    self._one(node, f"{name}[{number}]", item, made, saved, ask=ask)
            elif self._aliased or not self._plain(node, name, raw, made, saved):
                self._one(node, name, raw, made, saved)
            elif name in STATISTICS and unused(node, name):
                saved[-1] = replace(saved[-1], unused=True)
        if issubclass(kind, BackwardCFunction):
            for attribute, tensor in ctx_tensors(node):
                saved.append(self._unchecked(attribute, tensor, made))
        return tuple(saved)

    def _plan(self, kind: type) -> tuple[tuple[str, str], ...]:
        plan = self._plans[kind] = _saved_attributes(kind)
        if not plan and not issubclass(kind, BackwardCFunction):
            self.idle.add(kind)
        return plan

    def _plain(  # noqa: C901 - for every saved tensor
        self, node: Any, name: str, raw: Any, made: tuple[int, int], into: list[SavedTensor]
    ) -> bool:
        """What ``_one`` does, for the most usual case and in a third of its time; whether it is that."""
        tensor = raw.data
        kind = type(tensor)
        if not (kind is Tensor or kind is Parameter) or raw.unpack_hook is not None:
            return False
        entry = self._by_address.get(id(tensor))
        number = entry.tensor if entry is not None and entry() is tensor else -1
        older = made[1] <= 0 > made[0]
        if number >= 0:
            told = self._told.get((name, number))
            if told is not None and not (older and told.current_version):
                into.append(told)
                return True
        try:
            address, version = storage_address(tensor), tensor._version
            storage = self._storages.get(address)
            if storage is None:
                storage = self._recording.registry.storage_at(address, tensor)
            if storage in self._moves or is_symbolic(tensor):
                return False
            dtype, item = self._dtypes.get(tensor.dtype) or self._named(tensor.dtype)
            size, offset, nbytes = tensor.shape, tensor.storage_offset() * item, tensor.nbytes
            extent = nbytes if not nbytes or tensor.is_contiguous() else _extent(size, tensor.stride()) * item
            device = "cpu" if tensor.is_cpu else place_of(tensor)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return False
        met = self._first.get(storage)
        if met is None and version == 0:
            met = 0  # A counter that has not moved yet had not then either.
        shape = self._shapes.get(size)  # Sizes are equal to a tuple of the same numbers, and are rarely new.
        if shape is None:
            shape = tuple(size)
            self._shapes[shape] = shape
        status: SavedStatus = "valid"
        verdict, asked = "", False
        if met != version or (version and older):
            asked = True
            status, verdict, expected = self._verdict(node, name)
            if status == "modified" and not tells_of(verdict, version):
                status, verdict = "valid", ""
            met = version if status == "valid" else expected
        saved = SavedTensor(
            name, number, shape, dtype, device, nbytes, storage, offset, extent, status, met, version, verdict
        )
        if number >= 0 and not asked:
            self._told[name, number] = saved
        into.append(saved)
        return True

    def _named(self, dtype: torch.dtype) -> tuple[str, int]:
        named = self._dtypes[dtype] = short(dtype), dtype.itemsize
        return named

    def _verdict(self, node: Any, name: str) -> tuple[SavedStatus, str, int | None]:
        """What ``verify`` tells, at once where autograd has nothing against it."""
        if self._alone:
            try:
                getattr(node, UNPACKED + name)
            except (RuntimeError, AttributeError) as error:
                if is_interrupt(error):
                    raise
            else:
                return "valid", "", None
        return verify(node, name, plain=self._alone)

    def _one(
        self, node: Any, name: str, raw: Any, made: tuple[int, int], into: list[SavedTensor], *, ask: bool = True
    ) -> None:
        if raw.unpack_hook is not None:
            into.append(SavedTensor(name, -1, (), "", "", 0, -1, 0, 0, "packed"))
            return
        tensor = raw.data
        if tensor is None:
            if ask and (self._late or made[0] < 0) and verify(node, name)[0] == "freed":
                into.append(freed(name))
            return
        kept = self._unchecked(name, tensor, made)
        version, saved = kept.current_version, kept.saved_version
        # An op that modifies what it saved (`x *= x`) may have saved it before or after, and a graph from before the
        # capture may have been edited before it: only autograd knows.
        if saved != version or self._moved(kept, made[0]) or (version and made[1] <= 0 > made[0]):
            kind = type(tensor)
            plain = (self._alone and (kind is Tensor or kind is Parameter)) or is_stand_in(tensor)
            status, verdict, expected = verify(node, name, plain=plain) if ask else ("unverifiable", "", None)
            if status == "modified" and not tells_of(verdict, version):
                status, verdict = "valid", ""  # A custom Function unpacks all at once: another one was modified.
            saved = version if status == "valid" else expected
            kept = replace(kept, status=status, saved_version=saved, verdict=verdict)
        into.append(replace(kept, unused=True) if unused(node, name) else kept)

    def _moved(self, kept: SavedTensor, op: int) -> bool:
        """Whether that op modified the tensor."""
        ledger = self._recording.ledger
        return ledger.moved(ledger.counter_of(kept.tensor, kept.storage), op)

    def _unchecked(self, name: str, tensor: Tensor, made: tuple[int, int]) -> SavedTensor:
        """A tensor that a node keeps, with the version that the ledger says it had when the node was made."""
        registry, ledger = self._recording.registry, self._recording.ledger
        entry = registry.entry_of(tensor)
        storage = registry.storage_of(tensor)
        number = self._result(made[0], storage) if entry is None else entry.tensor
        offset, extent, nbytes = span_of(tensor)
        saved, version = ledger.expected(ledger.counter_of(number, storage), *made), version_of(tensor)
        shape = tuple(shape_of(tensor))
        return SavedTensor(
            name,
            number,
            self._shapes.setdefault(shape, shape),
            short(dtype_of(tensor)),
            short(device_of(tensor)),
            nbytes,
            storage,
            offset,
            extent,
            "valid",
            0 if saved is None and version == 0 else saved,  # A counter that has not moved yet had not then either.
            version,
        )

    def _result(self, op: int, storage: int) -> int:
        """What an op returned that has a version counter of its own (``x.data.tanh_()``); -1 for any other op.

        Autograd keeps another object of what a node returned than the program has, with the same counter.
        """
        ledger, entries = self._recording.ledger, self._recording.registry.entries
        if op < 0 or not self._aliased:
            return -1
        made = self._recording.ops.get(op)
        of_memory = (n for n in (made[OP_OUTPUTS] if made else ()) if n in entries and entries[n].storage == storage)
        return next((number for number in of_memory if ledger.counter_of(number, storage) != storage), -1)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements lie between the first and the last of a tensor, both included."""
    if len(shape) == 2:  # noqa: PLR2004 - a transposed weight, which most linear layers save
        return 1 + (shape[0] - 1) * strides[0] + (shape[1] - 1) * strides[1]
    return 1 + sum([(size - 1) * stride for size, stride in zip(shape, strides, strict=True)])


@cache
def short(value: Any) -> str:
    """The name of a dtype or device, without ``torch.``: one string for each."""
    return str(value).removeprefix("torch.")


def place_of(tensor: Tensor) -> str:
    """The name of a plain tensor's device. There is one CPU: to ask for that takes a tenth of comparing devices."""
    return "cpu" if tensor.is_cpu else short(tensor.device)


def _saved_attributes(kind: type) -> tuple[tuple[str, str], ...]:
    """(attribute, name of what it holds)."""
    # The class of a custom Function's node is the program's own: a cache would keep it alive.
    if not SAVED_READABLE:
        return ()
    return _OF_FUNCTIONS if issubclass(kind, BackwardCFunction) else _of_kind(kind)  # type: ignore[arg-type]


def raw_saved(node: Any) -> Iterator[tuple[str, Any]]:
    """(name, its unpack hook) of all that a node saves, or has saved until a backward freed it."""
    for attribute, name in _saved_attributes(type(node)):
        try:
            raw = getattr(node, attribute)
        except RuntimeError:
            yield name, None
            continue
        for item in raw if isinstance(raw, (tuple, list)) else (raw,):
            yield name, item.unpack_hook


@lru_cache(maxsize=1024)
def _of_kind(kind: type) -> tuple[tuple[str, str], ...]:
    return tuple([(name, name.removeprefix(RAW)) for name in dir(kind) if name.startswith(RAW)])
