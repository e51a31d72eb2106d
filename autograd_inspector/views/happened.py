"""What happened beside the ops, for a timeline; and what is known of values."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Graph
from autograd_inspector.model.history import history_of


class Happening(Struct, frozen=True):
    """``at``: how many ops had run."""

    at: int
    kind: str
    api: str
    said: str
    site: int = -1
    alarming: bool = False


def events_of(capture: Capture) -> list[Happening]:
    """Grad-mode switches, runs of the engine, steps and whole-model changes, in program order."""
    found = [*_modes(capture), *_backwards(capture)]
    for event in history_of(capture):
        times = f" ({event.times:,} times)" if event.times > 1 else ""
        kind = "step" if event.api.endswith(".step()") else "change"
        found.append(Happening(event.at, kind, event.api, event.said + times, event.site, event.alarming))
    return sorted(found, key=lambda event: event.at)


def _modes(capture: Capture) -> Iterator[Happening]:
    """Where ops begin to run in another mode; a switch that no op saw, and torch's own, do not count."""
    now = next((region.id for region in capture.regions if region.at_entry), -1)
    for op in capture.ops:
        region = capture.regions[op.region] if op.region < len(capture.regions) else None
        if region is None or region.id == now or region.library:
            continue
        now = region.id
        said = {"enabled": "gradient on", "no_grad": "gradient off", "inference_mode": "inference mode"}[region.kind]
        yield Happening(op.index, "mode", region.api or "grad mode", said, region.site)


def _backwards(capture: Capture) -> Iterator[Happening]:
    for run in capture.backwards:
        if run.api == "alive":
            continue
        said = f"raised {run.error}" if run.error else f"reached {len(run.reached):,} leaves"
        yield Happening(run.start, "backward", run.api, said, run.site, bool(run.error))


def remarks_of(capture: Capture, graph: Graph) -> Iterator[tuple[int, str]]:
    """(node, what its values were)."""
    leaves = {node.tensor: node.id for node in graph.nodes if node.kind == "parameter"}
    for fault in capture.value_faults:
        op = fault.op if fault.op >= 0 else fault.met_by
        if op in graph.by_op:
            yield graph.by_op[op], "results: " + "; ".join(map(str, fault.outputs))
    for leaf in capture.leaf_values:
        if leaf.tensor in leaves and (leaf.zero or leaf.nonfinite):
            said = "the gradient is exactly zero" if leaf.zero else "the gradient has NaN or Inf"
            yield leaves[leaf.tensor], f"{said} (backward {leaf.backward + 1})"
