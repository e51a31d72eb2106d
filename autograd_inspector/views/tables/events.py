"""What happened beside the ops, for a timeline; and what is known of values."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.compiled_code import counts_of
from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Graph
from autograd_inspector.model.program_events import CompiledCalled
from autograd_inspector.model.values import LeafValues


class Happening(Struct, frozen=True):
    """``at``: how many ops had run."""

    at: int
    kind: str
    api: str
    said: str
    site: int = -1
    alarming: bool = False


def events_of(capture: Capture) -> list[Happening]:
    """Grad-mode switches, runs of the engine, compiled calls, steps and whole-model changes, in program order."""
    happenings = [*_modes(capture), *_backwards(capture), *_compiled(capture)]
    for event in history_of(capture):
        times = f" ({event.times:,} times)" if event.times > 1 else ""
        kind = "step" if event.api.endswith(".step()") else "change"
        happenings.append(Happening(event.at, kind, event.api, event.said + times, event.site, event.alarming))
    # A mode is seen at the first op that ran in it: whatever else happened before that op happened before it.
    return sorted(happenings, key=lambda event: (event.at, event.kind == "mode"))


def _modes(capture: Capture) -> Iterator[Happening]:
    """Where ops begin to run in another mode; a switch that no op saw, and torch's own, do not count."""
    now = next((region.id for region in capture.regions if region.at_entry), -1)
    last = -1
    for op in capture.ops:
        if op.region == last:
            continue
        last = op.region
        region = capture.regions[op.region] if op.region < len(capture.regions) else None
        if region is None or region.id == now or region.library:
            continue
        now = region.id
        text = {"enabled": "gradient on", "no_grad": "gradient off", "inference_mode": "inference mode"}[region.kind]
        yield Happening(op.index, "mode", region.api or "grad mode", text, region.site)


def _backwards(capture: Capture) -> Iterator[Happening]:
    for run in capture.backwards:
        if run.api == "alive":
            continue
        outcome = f"raised {run.error}" if run.error else f"reached {len(run.reached):,} leaves"
        yield Happening(run.start, "backward", run.api, outcome, run.site, bool(run.error))


def _compiled(capture: Capture) -> Iterator[Happening]:
    for event in capture.events_of(CompiledCalled):
        yield Happening(event.at, "change", event.api, counts_of(event), event.site)


def arrived_in(capture: Capture) -> frozenset[int]:
    """The leaves whose gradient some backward brought, whatever became of it since."""
    runs = (run for run in capture.backwards if not run.error)
    return frozenset(capture.history.reached).union(t for run in runs for t in run.reached if t not in run.empty)


class Remark(Struct, frozen=True):
    """What is known of a node's values."""

    node: int
    text: str
    alarming: bool = True


def remarks_of(capture: Capture, graph: Graph) -> Iterator[Remark]:
    """Where NaN or Inf came up, and each parameter's gradient: its norm after the last backward, when it was bad."""
    leaves = _parameters(graph)
    for fault in capture.value_faults:
        op = fault.op if fault.op >= 0 else fault.met_by
        if op in graph.by_op:
            yield Remark(graph.by_op[op], "results: " + "; ".join(map(str, fault.outputs)))
    last = _last(capture)
    for leaf in capture.leaf_values:
        if leaf.tensor not in leaves:
            continue
        after = f"after backward {leaf.backward + 1}"
        if leaf.zero or leaf.nonfinite:
            text = "the gradient is exactly zero" if leaf.zero else "the gradient has NaN or Inf"
            yield Remark(leaves[leaf.tensor], f"{text} {after}")
        elif leaf.norm >= 0 and last[leaf.tensor] is leaf:
            yield Remark(leaves[leaf.tensor], f"gradient norm {leaf.norm:.4g} {after}", alarming=False)


def norms_of(capture: Capture, graph: Graph) -> dict[int, float]:
    """Node of each parameter -> the norm of its gradient after the last backward, where it is finite."""
    leaves = _parameters(graph)
    return {
        leaves[leaf.tensor]: leaf.norm for leaf in _last(capture).values() if leaf.tensor in leaves and leaf.norm >= 0
    }


def _parameters(graph: Graph) -> dict[int, int]:
    return {node.tensor: node.id for node in graph.nodes if node.kind == "parameter"}


def _last(capture: Capture) -> dict[int, LeafValues]:
    return {leaf.tensor: leaf for leaf in capture.leaf_values}
