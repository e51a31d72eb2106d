"""What can still be learnt when a backward has raised: its graph once more, and the program's names for what it met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from torch import Tensor

from autograd_inspector.capture.graph_walk.saved_tensors import raw_saved
from autograd_inspector.capture.lines.local_names import held_tensors
from autograd_inspector.capture.lines.sources import definition_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import has_history
from autograd_inspector.interrupts import code_called
from autograd_inspector.model.autograd import AutogradGraph, Node
from autograd_inspector.model.program_events import SavedTensorUnpacked
from autograd_inspector.source.index import last_return


def merged(before: AutogradGraph, after: AutogradGraph) -> AutogradGraph:
    """The graph as it was, with what became of its saved tensors. Nodes that ran have freed theirs by now."""
    if len(before.nodes) != len(after.nodes):
        return after
    old_by_key = {_key(old): old for old in before.nodes}
    # Nodes of two threads may have the same numbers: then they are in the same place of both.
    olds = [
        old if _key(old) == _key(new) else old_by_key.get(_key(new), new)
        for old, new in zip(before.nodes, after.nodes, strict=True)
    ]
    nodes = [
        replace(new, saved=old.saved) if _ran(old, new) else new for old, new in zip(olds, after.nodes, strict=True)
    ]
    return replace(after, nodes=tuple(nodes))


def _key(node: Node) -> tuple[int, str, int]:
    return node.seq, node.name, node.variable


def _ran(old: Node, new: Node) -> bool:
    """Whether the node has freed what it had saved."""
    return len(new.saved) < len(old.saved) or any(saved.status == "freed" for saved in new.saved)


def marked(graph: AutogradGraph, failed: Node | None) -> AutogradGraph:
    """Mark the node that the run failed at."""
    if failed is None:
        return graph
    key = (failed.seq, failed.name, failed.variable)
    nodes = [replace(n, failed=True) if (n.seq, n.name, n.variable) == key else n for n in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def note_unpacking(recording: Recording, live: Iterable[Any]) -> None:
    """Note the program's own hooks that unpack what is saved for these nodes, each once. None is called."""
    hooks = (hook for node in live for _, hook in raw_saved(node) if hook is not None)
    codes = dict.fromkeys(code for hook in hooks if (code := code_called(hook)) is not None)
    for code in codes:
        if classify(code.co_filename) == USER:
            definition = definition_of(code)
            site = recording.stacks.of_code(code, None if definition is None else last_return(definition))
            recording.events.append(SavedTensorUnpacked(len(recording.ops), site, code.co_name))


def name_involved(recording: Recording, graph: AutogradGraph) -> None:
    """Name what is older than the capture by the variables that hold it: results, and memory that was modified.

    No statement of the capture assigned them.
    """
    registry = recording.registry
    modified = {saved.storage for node in graph.nodes for saved in node.saved if saved.status == "modified"} - {-1}
    for name, tensor in held_tensors(recording.stacks.stop):
        if _concerned(recording, tensor, modified):
            entry = registry.enter(tensor, -1, len(recording.ops))
            if registry.facts[entry.tensor][FACT_BIRTH] < 0 and not recording.variables.get(entry.tensor):
                recording.variables[entry.tensor] = name


def _concerned(recording: Recording, tensor: Tensor, modified: set[int]) -> bool:
    if recording.registry.entry_of(tensor) is not None:
        return has_history(tensor)
    return bool(modified) and recording.registry.storage_of(tensor) in modified
