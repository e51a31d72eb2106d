"""How the nodes of a picture are put into few enough boxes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Graph, GraphNode
from autograd_inspector.views.summaries.tree import DEEPEST

Key = tuple[str, ...]
"""A box: ("op", node), ("call", module call), ("line", module call, place) or ("path", path)."""

_REST: Key = ("path", "")
_NUMBER = re.compile(r"\d+")


class Folding:
    """Assigns each call of the picture to a box; ``chains``: the module calls around it, outermost first."""

    def __init__(self, graph: Graph, capture: Capture, shown: set[int]) -> None:
        self.capture = capture
        self.nodes = [graph.nodes[n] for n in sorted(shown) if not graph.nodes[n].leaf]
        self.chains: dict[int, tuple[int, ...]] = {-1: ()}
        for call in capture.calls:
            around = self.chains[call.parent]
            self.chains[call.id] = (*around, call.id) if len(around) < DEEPEST else around
        self._population: Counter[int] = Counter()
        for inner, count in Counter([node.call for node in self.nodes]).items():
            for outer in self.chains[inner]:
                self._population[outer] += count
        self._called = Counter((capture.calls[c].root, capture.calls[c].path) for c in self._population)

    def times(self, key: Key) -> int:
        """How often the module of a box was called within the picture."""
        if key[0] != "call":
            return 1
        call = self.capture.calls[int(key[1])]
        return self._called[call.root, call.path]

    def keys(self, limit: int) -> dict[int, Key]:
        """The finest folding that needs no more boxes than ``limit``, else the coarsest, its smallest boxes as one."""
        candidates = list(self._candidates())
        for key_of in candidates[:-1]:
            folding = self._within(limit, key_of)
            if folding is not None:
                return folding
        coarsest = {node.id: candidates[-1](node) for node in self.nodes}
        largest = {key for key, _ in Counter(coarsest.values()).most_common(limit)}
        return {number: key if key in largest else _REST for number, key in coarsest.items()}

    def _within(self, limit: int, key_of: Callable[[GraphNode], Key]) -> dict[int, Key] | None:
        keys: dict[int, Key] = {}
        distinct: set[Key] = set()
        for node in self.nodes:
            key = keys[node.id] = key_of(node)
            distinct.add(key)
            if len(distinct) > limit:
                return None
        return keys

    def _candidates(self) -> Iterator[Callable[[GraphNode], Key]]:
        deepest = max((len(self.chains[node.call]) for node in self.nodes), default=0)
        for by_line, by_path in ((False, False), (True, False), (True, True)):
            for depth in range(deepest, -1, -1):
                yield partial(self._key, depth=depth, by_line=by_line, by_path=by_path)
        yield self._pattern

    def _key(self, node: GraphNode, *, depth: int, by_line: bool, by_path: bool) -> Key:
        chain = self.chains[node.call]
        if len(chain) > depth:
            box = chain[depth]
        elif chain and self._population[chain[-1]] == 1:
            box = chain[-1]
        elif by_line:
            location = self.capture.place(node.site)
            return "line", str(node.call), "" if location is None else location.place
        else:
            return "op", str(node.id)
        return ("path", self.capture.calls[box].path) if by_path else ("call", str(box))

    def _pattern(self, node: GraphNode) -> Key:
        """The two outer levels of the module path, numbers left out."""
        return "path", ".".join(_NUMBER.sub("*", node.path).split(".")[:2])
