"""How to keep the graph out of what is added up: by the variables that the line reads, where these are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.earlier_graphs.links import Line, Link, layer_path
from autograd_inspector.analysis.rounds import consuming


def fix_of(analysis: Analysis, line: Line, last: Link, name: str) -> str:
    """Take the history off what is added, by its variables where these are known, else off the sum itself."""
    added = list(added_at(analysis, line, last))
    tensors = analysis.capture.tensors
    cut = f"write `{name} = {name}.detach()` after this line" if assignable(name, analysis, last.tensor) else ""
    if not variables(analysis, added):
        if all(tensors[t].shape == () for t in last.op.outputs):
            return f"Add a number to {name}, not a tensor with its graph: call `.item()` or `.detach()` on the added tensor."
        return f"{without_graph(analysis, added, name)}" + (f", or {cut}." if cut else ".")
    return f"{without_graph(analysis, added, name)}."


def without_graph(analysis: Analysis, added: list[int], name: str) -> str:
    """What to write for what is added."""
    names = variables(analysis, added)
    if not names:
        return f"Detach before accumulating into {name}: call `.detach()` on the added tensor"
    if all(analysis.capture.tensors[t].shape == () for t in added):
        numbers, copies = _listed(names, "item"), _listed(names, "detach")
        return f"Add a number to {name}, not a tensor with its graph: {numbers} (or {copies})"
    return f"Detach before accumulating into {name}: use {_listed(names, 'detach')} on this line"


def variables(analysis: Analysis, added: Iterable[int]) -> list[str]:
    """What the program calls them, [] where it has no name for one."""
    names = {t: analysis.capture.tensors[t].variable for t in added}
    return list(names.values()) if all(assignable(name, analysis, t) for t, name in names.items()) else []


def _listed(names: Iterable[str], method: str) -> str:
    return " and ".join(f"`{name}.{method}()`" for name in dict.fromkeys(names))


def added_at(analysis: Analysis, line: Line, last: Link) -> Iterator[int]:
    """What the line reads, the last time, with a history that it did not make itself."""
    start = max((r.end for r in consuming(analysis.capture) if r.end <= last.op.index), default=0)
    seen: set[int] = set()
    for op in analysis.capture.ops[start:]:
        if line_of(analysis, op.site) == line and layer_path(analysis, op) == layer_path(analysis, last.op):
            for tensor in op.inputs:
                record = analysis.capture.tensors[tensor]
                if record.requires_grad and _made_at(analysis, tensor) != line and tensor not in seen:
                    seen.add(tensor)
                    yield tensor


def _made_at(analysis: Analysis, tensor: int) -> Line | None:
    birth = analysis.capture.tensors[tensor].birth
    return line_of(analysis, analysis.capture.ops[birth].site) if birth >= 0 else None
