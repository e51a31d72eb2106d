"""What the report says of graphs that were not walked to their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from autograd_inspector.capture.engine.reach import MAX_TOTAL
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.location import Site

if TYPE_CHECKING:
    from autograd_inspector.capture.tape import Tape


class Cutoff(Struct, frozen=True):
    """Where one walk stopped. ``op`` and ``site`` are those of the latest call whose record stands in."""

    walked: int
    others: int
    depth: int
    op: str
    site: int
    blind: bool
    exhausted: bool


class Cutoffs:
    """Keeps the largest: a loop of deep graphs is told of once."""

    def __init__(self) -> None:
        self._largest: Cutoff | None = None

    def add(self, tape: Tape, nodes: Sequence[Node], walked: int, ends: Mapping[int, int]) -> None:
        """A walk met the first ``walked`` of those nodes, and opened all but ``ends`` (node -> how deep it lies)."""
        if self._largest is not None and self._largest.walked + self._largest.others >= len(nodes):
            return
        made = [nodes[end].op for end in ends if nodes[end].op >= 0]
        op = tape.ops[max(made)] if made else None
        self._largest = Cutoff(
            walked,
            len(nodes) - walked,
            max(ends.values()),
            "" if op is None else op[0],
            -1 if op is None else op[5],
            any(node.blind for node in nodes),
            tape.reach.exhausted,
        )

    def note(self, sites: Sequence[Site]) -> str:
        """One paragraph, "" where every graph was walked to its end."""
        found = self._largest
        if found is None:
            return ""
        parts = [
            "Autograd's graph is deeper or wider than it may be walked without danger to the program: "
            f"{found.walked:,} of its nodes were walked, to a depth of {found.depth:,}"
            + (f" (graphs that continue it had been walked {MAX_TOTAL:,} deep by then)." if found.exhausted else ".")
        ]
        if found.others:
            user = sites[found.site].user if found.site >= 0 else None
            place = f" ({user.place})" if user is not None else ""
            parts.append(
                f"From `{found.op}`{place} on, towards the leaves, the records of calls stand in for the rest, "
                f"{found.others:,} calls and leaves: where gradient goes is known of them, what they saved for "
                "backward is not."
            )
        if found.blind:
            parts.append(
                "Of some of the rest nothing is known, for it was made before this capture or by code that no torch "
                "call shows; no finding rests on it."
            )
        return " ".join(parts)
