"""What the report says of graphs that were not walked to their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from autograd_inspector.capture.recording.raw_records import OP_NAME, OP_SITE
from autograd_inspector.capture.recording.recorded_nodes import Recorded
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.recording.walk_budget import MAX_TOTAL
from autograd_inspector.model.autograd import GraphHead
from autograd_inspector.model.graphs import below
from autograd_inspector.model.location import Site


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
        self._recorded = 0

    def add(self, recording: Records, recorded: Recorded, head: GraphHead, ends: Mapping[int, int]) -> None:
        """The walk of a graph opened all but ``ends`` (node -> how deep it lies).

        A graph that grows is counted again when it may have twice as many nodes.
        """
        count = len(recorded.nodes)
        if self._largest is not None and count < 2 * self._recorded:
            return
        nodes = [recorded.nodes[number] for number in below(recorded.nodes, head.roots)]
        if self._largest is not None and self._largest.walked + self._largest.others >= len(nodes):
            return
        self._recorded = count
        made = [node.op for node in map(recorded.nodes.__getitem__, ends) if node.op >= 0]
        op = recording.ops[max(made)] if made else None
        walked = sum(node.met for node in nodes)
        self._largest = Cutoff(
            walked,
            len(nodes) - walked,
            max(ends.values()),
            "" if op is None else op[OP_NAME],
            -1 if op is None else op[OP_SITE],
            head.blind,
            recorded.exhausted,
        )

    def note(self, sites: Sequence[Site]) -> str:
        """One paragraph, "" where every graph was walked to its end."""
        largest = self._largest
        if largest is None:
            return ""
        parts = [
            "Autograd's graph is too deep or too wide to walk safely: "
            f"{largest.walked:,} of its nodes were walked, to a depth of {largest.depth:,}"
            + (f" (graphs that continue it had been walked {MAX_TOTAL:,} deep by then)." if largest.exhausted else ".")
        ]
        if largest.others:
            user = sites[largest.site].user if largest.site >= 0 else None
            place = f" ({user.place})" if user is not None else ""
            parts.append(
                f"From `{largest.op}`{place} on, towards the leaves, recorded calls stand in for the rest "
                f"({largest.others:,} calls and leaves): the report shows where their gradient goes, but not what "
                "they saved for backward."
            )
        if largest.blind:
            parts.append(
                "Part of the rest is unknown: it was made before this capture, or by code that makes no torch call. No "
                "finding depends on it."
            )
        return " ".join(parts)
