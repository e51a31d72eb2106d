"""What is written in a box."""

from __future__ import annotations

from collections import Counter

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import GraphEdge, GraphNode
from autograd_inspector.model.memory import distinct_bytes
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import listed, op_name, shown, size
from autograd_inspector.views.summaries.tree import story

_LONGEST = 44
_SAME = 200
Key = tuple[str, ...]


def title_of(key: Key, nodes: list[GraphNode], capture: Capture, times: int) -> tuple[str, str]:
    """(title, subtitle) of a box of calls; ``times``: how often its module occurs in the picture."""
    calls = [node for node in nodes if not node.leaf]
    if key[0] == "call":
        call = capture.calls[int(key[1])]
        name = capture.display_names.within(call, capture.calls[call.parent] if call.parent >= 0 else None)
        nth = f" (call {call.nth})" if times > 1 else ""
        inside = [text for text in _inside(calls) if text.replace("_", "") != call.type.lower()]
        return shown(name, _LONGEST) + nth, _join(shown(call.type, _LONGEST), *inside, _learnt(nodes))
    if key[0] == "path":
        return shown(key[1] or "all the rest", _LONGEST), _join(*_inside(calls), _learnt(nodes))
    names = listed([op_name(node.name) for node in calls], 4)
    if key[0] == "line":
        return names, _join(key[2], _kept(calls, capture))
    record = capture.tensors[calls[0].tensor] if calls[0].tensor >= 0 else None
    made = "" if record is None else f"{record.variable} {_shape(record.shape)}".strip()
    name = op_name(calls[0].name)
    return name, _join(f"→ {shown(made, _LONGEST)}" if made else "", _learnt(nodes))


def leaf_title(nodes: list[GraphNode], capture: Capture) -> tuple[str, str]:
    """(title, subtitle) of a tensor, or of several that the same boxes read."""
    node = nodes[0]
    record = capture.tensors[node.tensor]
    kind: str = "needs grad" if node.tracked and node.kind == "input" else node.kind
    if node.kind == "parameter" and not node.tracked:
        kind = "frozen parameter"
    if node.kind == "input" and not record.leaf:
        kind = "made before the capture"
    name = capture.display_names.of(node.tensor)
    shape = _shape(record.shape)
    if len(nodes) > 1:
        return f"{len(nodes)} tensors", _join(kind, f"{shown(name or shape, _LONGEST)}, …")
    return (shown(name, _LONGEST), _join(kind, shape)) if name else (f"{record.dtype} {shape}", kind)


def alarms_of(nodes: list[GraphNode], cuts: list[GraphEdge], capture: Capture) -> list[str]:
    """What went wrong in a box, and where gradient stops inside it."""
    alarms = []
    for node in nodes:
        alarms += [f"saved {shown(s.name, 20)} {story(s)}" for s in node.modified]
        if node.failed:
            alarms.append("backward failed here")
        if ended(node, capture):
            alarms.append(f"raised {shown(node.error, _LONGEST)}")
    for (cause, site), number in Counter((e.cause, e.site) for e in cuts if e.live).items():
        location = capture.place(site)
        where = "" if location is None else f", {location.place}"
        times = f" ×{number}" if number > 1 else ""
        alarms.append(f"✂ {cause}{times}{where}")
    return alarms


def ended(node: GraphNode, capture: Capture) -> bool:
    """Whether the call raised what ended the program, not something that was caught."""
    return bool(node.error) and capture.error.startswith(node.error[:_SAME])


def _inside(calls: list[GraphNode]) -> list[str]:
    if len(calls) == 1:
        return [op_name(calls[0].name)]
    return [counted(len(calls), "op")] if calls else []


def _learnt(nodes: list[GraphNode]) -> str:
    """How many parameters live in the box."""
    parameters = sum(node.kind == "parameter" for node in nodes)
    return counted(parameters, "parameter") if parameters else ""


def _kept(calls: list[GraphNode], capture: Capture) -> str:
    kept = distinct_bytes((saved for node in calls for saved in node.saved), capture.stored)
    return f"{size(kept)} saved" if kept else ""


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _join(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
