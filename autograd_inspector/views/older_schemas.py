"""Reports of earlier versions as reports of this one: JSON in, JSON out, both as Python's lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import starmap
from types import MappingProxyType
from typing import Any


def of_version_1(report: Any) -> Any:
    """Version 1 kept a graph for each run of the engine; since then the nodes of all runs are in one place.

    Raises ValueError where a number names no node of its run.
    """
    try:
        capture = report["capture"]
        runs = capture.get("backwards", [])
        nodes: list[Any] = []
        moved: list[range] = []
        for run in runs:
            own = run["graph"].pop("nodes", [])
            moved.append(range(len(nodes), len(nodes) + len(own)))
            nodes += starmap(_moved_node(moved[-1]), enumerate(own))
            run["graph"]["roots"] = _moved(run["graph"].get("roots", []), moved[-1])
        for fault in capture.get("gradient_faults", []):
            (fault["node"],) = _moved([fault["node"]], moved[fault["backward"]])
        named = {_RENAMED.get(name, name): value for name, value in capture.items()}
        return report | {"capture": named | {"nodes": nodes}, "schema": 2}
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the graphs of its runs are not to be read: {error!r}") from None


_RENAMED = MappingProxyType(
    {
        "leaf_changes": "requires_grad_changes",
        "exchanges": "replacements",
        "returns": "scalar_reentries",
        "gaps": "none_gradients",
        "kept": "retained_graphs",
    }
)
"""Columns of a capture that have had another name."""

OLDER: Mapping[int, Callable[[Any], Any]] = MappingProxyType({1: of_version_1})
"""Version -> what makes one of the present version of it."""


def _moved_node(places: range) -> Callable[[int, Any], Any]:
    def node(place: int, old: Any) -> Any:
        if old["index"] != place:
            raise ValueError(f"the nodes of a graph are not numbered from 0: {old['index']} instead of {place}")
        children = _moved([child for child, _ in old["edges"]], places)
        edges = [[child, slot] for child, (_, slot) in zip(children, old["edges"], strict=True)]
        return old | {"index": places[place], "edges": edges}

    return node


def _moved(numbers: Iterable[Any], places: range) -> list[int]:
    found = list(numbers)
    if any(not isinstance(number, int) or number < 0 for number in found):
        raise ValueError("a node of a graph has no number")
    return [places[number] for number in found]
