"""Which nodes of a run are to be looked at for edits of what they saved: new ones, and those edited since the last look."""

from __future__ import annotations

from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.saved_tensors import counter_of, on_ctx
from autograd_inspector.analysis.unseen_edits.slices import inside_slices
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.awaited import Awaited
from autograd_inspector.model.op import Write

_Key = tuple[str, int]


class _Saved(NamedTuple):
    """``counter``: the version counter that autograd compares, None where it compares none."""

    node: int
    counter: int | None


class LookedAt:
    """Goes through the runs in order. A graph that grows is looked at once, not by each run that goes through it."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._runs = analysis.run_graphs
        self._saving: dict[_Key, list[_Saved]] = {}
        """Memory -> what nodes of earlier runs have saved in it, which later runs have as well."""
        self._edited = Awaited(analysis.run_graphs)
        """Nodes whose saved memory was edited since it was looked at, until a run has them."""
        self._seen = 0

    def nodes(self, place: int, reported_sites: set[int]) -> tuple[list[Node], list[Node]]:
        """(new ones of that run, edited ones of earlier runs that it has too) that may tell something new of it.

        Of edits at the sites ``reported_sites`` there is nothing new.
        """
        self._take(self._runs.runs[place].start, reported_sites)
        new = self._runs.new(place)
        edited = [self._analysis.capture.nodes[number] for number in self._edited.met(place)]
        for node in (*new, *edited):
            self._follow(node, place)
        return new, edited

    def _take(self, end: int, reported_sites: set[int]) -> None:
        """The edits until that op."""
        for op in self._analysis.capture.ops[self._seen : end] if self._saving else ():
            for write in op.writes if op.site not in reported_sites else ():
                for key in (("storage", write.storage), ("tensor", write.tensor)):
                    if key in self._saving:
                        self._edit(key, write)
        self._seen = end

    def _edit(self, key: _Key, write: Write) -> None:
        counter = self._analysis.capture.tensors[write.tensor].counter
        rest = [saved for saved in self._saving[key] if not write.unseen and counter == saved.counter]
        if len(rest) < len(self._saving[key]):
            self._edited.add(s.node for s in self._saving[key] if write.unseen or counter != s.counter)
            self._saving[key] = rest

    def _follow(self, node: Node, place: int) -> None:
        if self._runs.last(node.index) <= place:
            return
        for saved in (*node.saved, *inside_slices(self._analysis, node)):
            if saved.status == "valid" and not saved.unused:
                each = _Saved(node.index, None if on_ctx(saved) else counter_of(self._analysis, saved))
                for key in (("storage", saved.storage), ("tensor", saved.tensor)):
                    if key[1] >= 0:
                        self._saving.setdefault(key, []).append(each)
