"""One module of a list that was called again and again where the others were not called at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import ModuleCall

_Place = tuple[int, str]
"""Index of the root, path."""


class StandingIn(Struct, frozen=True):
    """``call`` is one of the ``times`` calls of a member in one forward; ``tensors`` belong to members without a call."""

    call: ModuleCall
    times: int
    tensors: tuple[int, ...]


def standing_in(capture: Capture, tensors: list[int]) -> Iterator[StandingIn]:
    """Each list once, of those that hold some parameters of members that no forward called."""
    missing: dict[_Place, list[int]] = defaultdict(list)
    for tensor in tensors:
        for place in lists_around(capture, tensor):
            missing[place].append(tensor)
    calls: dict[_Place, dict[int, list[ModuleCall]]] = defaultdict(lambda: defaultdict(list))
    for call in capture.calls:
        container, _, member = call.path.rpartition(".")
        if member.isdigit() and (call.root, container) in missing:
            calls[call.root, container][call.parent].append(call)
    for place, by_parent in calls.items():
        members = {call.path for found in by_parent.values() for call in found}
        fewest = min(len(found) for found in by_parent.values())
        if len(members) == 1 and fewest > 1:
            first = next(iter(by_parent.values()))[0]
            yield StandingIn(first, fewest, tuple(missing[place]))


def lists_around(capture: Capture, tensor: int) -> Iterator[_Place]:
    """The lists that a parameter's names lead through."""
    root = capture.owners.get(tensor, -1)
    for name in capture.tensors[tensor].names:
        parts = name.split(".")
        for at, part in enumerate(parts):
            if part.isdigit():
                yield root, ".".join(parts[:at])
