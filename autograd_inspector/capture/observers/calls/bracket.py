"""What a call was given and what it left, told by looking before and after it: nothing of the inside is seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.registry import Entry
from autograd_inspector.capture.tensors.attributes import needs_grad, version_of
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.model.op import Trait, Write

_CUT = int(Trait.CUT)


class Before(NamedTuple):
    """``recorded``: autograd would have recorded a differentiable op on these inputs."""

    tensors: list[Tensor]
    entries: list[Entry]
    versions: list[int]
    recorded: bool
    sequence: int


def look(recording: Recording, tensors: list[Tensor]) -> Before:
    """Take down what a call is given."""
    entries = [recording.registry.enter(tensor, -1, len(recording.ops)) for tensor in tensors]
    recorded = torch.is_grad_enabled() and any(entry.requires_grad for entry in entries)
    return Before(tensors, entries, [version_of(tensor) for tensor in tensors], recorded, sequence_number())


def record(
    recording: Recording,
    before: Before,
    name: str,
    result: Any,
    *,
    site: int,
    traits: int = 0,
    returns_writes: bool = False,
    error: str = "",
) -> None:
    """Record the call as one op. ``returns_writes``: it says itself what it wrote, by returning that."""
    now = len(recording.ops)
    result_tensors: list[Tensor] = []
    gather((result,), result_tensors)
    outputs, connected = [], False
    for tensor in result_tensors:
        entry = recording.registry.enter(tensor, now, now)
        entry.requires_grad = needs_grad(tensor)
        connected = connected or entry.requires_grad
        outputs.append(entry.tensor)
    # An input that was returned may require grad only now.
    if not connected and (before.recorded or any(entry.requires_grad for entry in before.entries)):
        traits |= _CUT if outputs or returns_writes else 0
    writes = tuple(
        Write(entry.tensor, entry.storage, version, after)
        for tensor, entry, version in zip(before.tensors, before.entries, before.versions, strict=True)
        if (after := version_of(tensor)) != version and (not returns_writes or entry.tensor in outputs)
    )
    inputs = tuple([entry.tensor for entry in before.entries])
    sequence = (before.sequence, sequence_number())
    recording.append(name, inputs, tuple(outputs), writes, traits, site, error, tuple(before.versions), sequence)
