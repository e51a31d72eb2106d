"""Modules of a list of which some run in one call and others in the next: experts, exits, layers dropped at random."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autograd_inspector.analysis.modules.standing_in import lists_around
from autograd_inspector.model.capture import Capture

_Place = tuple[int, str]
"""Index of the root, path."""


def routed(capture: Capture, tensors: list[int]) -> list[int]:
    """Those of some parameters that belong to a list whose members took turns in the calls of the module around it."""
    varying = set(_varying(capture))
    if not varying:
        return []
    return [t for t in tensors if any(place in varying for place in lists_around(capture, t))]


def _varying(capture: Capture) -> Iterator[_Place]:
    """The lists of which not the same members ran in each call of the module around them."""
    ran: dict[_Place, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for call in capture.calls:
        container, _, member = call.path.rpartition(".")
        if member.isdigit():
            ran[call.root, container][call.parent].add(member)
    for place, members_by_call in ran.items():
        if len({frozenset(members) for members in members_by_call.values()}) > 1:
            yield place
