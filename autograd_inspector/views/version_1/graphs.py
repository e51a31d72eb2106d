"""The graphs of the engine's runs: version 1 kept one for each; since then the nodes of all runs are in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Any


def of_graphs(capture: Any) -> dict[str, Any]:
    """What replaces the graphs. Raises ValueError where a number names no node of its run."""
    nodes: list[Any] = []
    moved: list[range] = []
    runs = []
    for run in capture.get("backwards", []):
        graph = run["graph"]
        run_nodes = graph.get("nodes", [])
        moved.append(range(len(nodes), len(nodes) + len(run_nodes)))
        cut = bool(graph.get("truncated"))
        renumbered = list(starmap(_moved_node(moved[-1]), enumerate(run_nodes)))
        nodes += [node | {"blind": True} if cut and _is_end(node) else node for node in renumbered]
        head = {key: value for key, value in graph.items() if key != "nodes"}
        runs.append(run | {"graph": head | {"roots": _moved(graph.get("roots", []), moved[-1]), "blind": cut}})
    faults = [
        fault | {"node": _moved([fault["node"]], moved[fault["backward"]])[0]}
        for fault in capture.get("gradient_faults", [])
    ]
    return {"nodes": nodes, "backwards": runs, "gradient_faults": faults}


def _is_end(node: Any) -> bool:
    """Whether a walk that was cut off went no further there: only what accumulates a gradient ends by itself."""
    return not node["edges"] and node.get("variable", -1) < 0


def _moved_node(places: range) -> Callable[[int, Any], Any]:
    def node(place: int, old: Any) -> Any:
        if old["index"] != place:
            raise ValueError(f"the nodes of a graph are not numbered from 0: {old['index']} instead of {place}")
        children = _moved([child for child, _ in old["edges"]], places)
        edges = [[child, slot] for child, (_, slot) in zip(children, old["edges"], strict=True)]
        return old | {"index": places[place], "edges": edges}

    return node


def _moved(numbers: Iterable[Any], places: range) -> list[int]:
    indices = list(numbers)
    if any(not isinstance(number, int) or number < 0 for number in indices):
        raise ValueError("a node of a graph has no number")
    return [places[number] for number in indices]
