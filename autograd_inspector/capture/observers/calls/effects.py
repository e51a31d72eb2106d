"""What a call of torch did to tensors, by their versions before and after, and whether they require grad."""

from __future__ import annotations

from torch import Tensor

from autograd_inspector.capture.recording.registry import Entry
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.capture.tensors.attributes import needs_grad, version_of
from autograd_inspector.model.op import Write


def untracked(inputs: list[Tensor], entries: list[Entry]) -> tuple[int, ...]:
    """The versions where torch raised for some, which are not asked again."""
    versions = tuple(map(version_of, inputs))
    for entry, version in zip(entries, versions, strict=True):
        entry.untracked = entry.untracked or version < 0
    return versions


def writes_of(
    inputs: list[Tensor], entries: list[Entry], versions: tuple[int, ...], after: tuple[int, ...]
) -> tuple[Write, ...]:
    """What an op wrote; whether those require grad now is noted."""
    writes = []
    for tensor, entry, before, now in zip(inputs, entries, versions, after, strict=True):
        if now != before:
            entry.requires_grad = tensor.requires_grad if type(tensor) is Tensor else needs_grad(tensor)
            writes.append(Write(entry.tensor, entry.storage, before, now))
    return tuple(writes)


def keeps_gradient(entries: Window[Entry], writes: tuple[Write, ...]) -> bool:
    """Whether something that the op wrote requires grad now."""
    return any(entries[write.tensor].requires_grad for write in writes)


def apart(inputs: list[int], outputs: tuple[int, ...]) -> bool:
    """Whether a view was made where nothing is recorded: it says that it requires grad, and has no history."""
    return not set(inputs).intersection(outputs)
