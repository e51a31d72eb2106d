"""Graphs that are older than the capture: recorded in an earlier cell, freed (AG501) or edited (AG201) there too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_inspector.advice.carried_graphs import carried_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward, Node, SavedTensor
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.op import Op, Write
from autograd_inspector.model.wording import join_names


def older_graph(analysis: Analysis, run: Backward, earlier: Sequence[Backward]) -> Problem | None:
    """What a failed backward met of a freed graph that no op of the capture had made."""
    nodes = analysis.nodes_of(run)
    gone = [node for node in nodes if node.older and any(saved.status == "freed" for saved in node.saved)]
    if not gone:
        return None
    by = _freed_by(analysis, gone, earlier)
    entered = _entries(analysis, nodes, gone)
    if entered:
        names = list(dict.fromkeys(carried_name(analysis, op, tensor) for op, tensor in entered))
        code = assignable(names[0], analysis, entered[0][1])
    else:
        names, code = [name_of(analysis, root) for root in run.roots], False
    name = join_names(names, 3)
    return Problem(
        "error",
        f"the graph of {name} was recorded and freed before this capture began: an earlier backward() already ran through it"
        if by is None
        else f"the graph of {name}, recorded before this capture, was freed by an earlier backward(): this one runs through "
        "it a second time",
        _fix(names[0], alone=not entered, code=code),
        analysis.places(
            *((op, "used again here") for op, _ in entered), (by, "graph freed here"), (run, "second backward here")
        ),
        tuple(names),
        (
            f"When this backward() started, the saved tensors of {_named(gone)} were already freed: "
            "backward() frees them unless retain_graph=True is passed.",
        ),
        tuple(op.index for op, _ in entered),
    )


def _fix(name: str, *, alone: bool, code: bool) -> str:
    if alone:
        return (
            f"Compute {name} again before its backward() (re-run the cell with the forward), or pass retain_graph=True "
            "to the earlier backward()."
        )
    cut = f"`{name}.detach()`" if code else "call detach() on it there"
    return (
        f"Compute {name} again for each backward(), or detach it where it is carried over: {cut}. If both "
        "backward() calls must go through it, pass retain_graph=True to the earlier one."
    )


def _named(gone: Iterable[Node]) -> str:
    return join_names((node.name.rsplit("::", 1)[-1] for node in gone), 3)


def _freed_by(analysis: Analysis, gone: list[Node], earlier: Sequence[Backward]) -> Backward | None:
    """The backward of this capture that freed them; None: they were freed by then."""
    sought = {(node.seq, node.name) for node in gone}
    for other, new in RunGraphs(analysis.capture.nodes, (run for run in earlier if not run.retain_graph)):
        for node in new:
            if (node.seq, node.name) in sought and any(saved.status != "freed" for saved in node.saved):
                return other
    return None


def _entries(analysis: Analysis, nodes: list[Node], gone: list[Node]) -> list[tuple[Op, int]]:
    """(op, tensor): where ops of the capture took in a result of the freed graph."""
    recorded, freed = analysis.capture.nodes, {node.index for node in gone}
    dead: dict[int, bool] = {}
    for node in reversed(_outermost_first(nodes)):
        dead[node.index] = node.index in freed or any(dead.get(child, False) for child, _ in node.edges)
    readers = {node.op for node in nodes if node.op >= 0 and any(_old(recorded[c]) and dead[c] for c, _ in node.edges)}
    entries = []
    for op in (analysis.capture.ops[index] for index in sorted(readers)):
        for tensor in dict.fromkeys(op.inputs):
            record = analysis.capture.tensors[tensor]
            if record.requires_grad and not record.leaf and analysis.flow.birth(tensor) is None:
                entries.append((op, tensor))
    return entries


def _old(node: Node) -> bool:
    return node.older and node.variable < 0


def _outermost_first(nodes: list[Node]) -> list[Node]:
    """Consumers before producers: sequence numbers grow as a graph is recorded, leaves come last."""
    return sorted(nodes, key=lambda node: node.seq if node.variable < 0 else -1, reverse=True)


def edited_before(node: Node, saved: SavedTensor, writes: list[Write]) -> bool:
    """Whether a tensor that an older graph saved had been modified when the capture began."""
    if not node.older or saved.saved_version is None:
        return False
    return not writes or writes[0].before > saved.saved_version


def recompute_advice(analysis: Analysis, run: Backward, name: str) -> str:
    """The fix for a graph whose saved tensors no longer are what they were at the start of the capture."""
    roots = join_names((name_of(analysis, root) for root in run.roots), 2)
    return (
        f"Compute {roots} again (re-run the cell with the forward), and call backward() before anything modifies {name}: "
        "edit a `.clone()`, or edit it afterwards."
    )
