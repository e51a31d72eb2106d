"""Which nodes of a run are to be looked at for edits of what they saved: new ones, and those edited since the last look."""

from __future__ import annotations

from typing import NamedTuple

from autograd_inspector.advice.saved_tensors import counter_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.op import Write
from autograd_inspector.rules.ag202_unseen_edit.ctx_attributes import on_ctx
from autograd_inspector.rules.ag202_unseen_edit.slices import inside_slices

_Key = tuple[str, int]


class _Saved(NamedTuple):
    """``counter``: the version counter that autograd compares, None where it compares none."""

    node: int
    counter: int | None


class LookedAt:
    """Goes through the runs in order. A graph that grows is looked at once, not by each run that goes through it."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._runs = analysis.shared
        self._saving: dict[_Key, list[_Saved]] = {}
        """Memory -> what nodes of earlier runs have saved in it, which later runs have as well."""
        self._edited: dict[int, None] = {}
        """Nodes whose saved memory was edited since it was looked at."""
        self._seen = 0

    def nodes(self, place: int, told: set[int]) -> list[Node]:
        """Those that may tell something new of that run; of edits at the sites ``told`` there is nothing new."""
        self._take(self._runs.runs[place].start, told)
        runs, new = self._runs, self._runs.new(place)
        self._edited = {node: None for node in self._edited if runs.last(node) >= place}
        found = [node for node in self._edited if runs.has(place, node)]
        for number in found:
            del self._edited[number]
        for node in (*new, *map(self._analysis.capture.nodes.__getitem__, found)):
            self._follow(node, place)
        return runs.whole(place) if found else new

    def _take(self, end: int, told: set[int]) -> None:
        """The edits until that op."""
        for op in self._analysis.capture.ops[self._seen : end] if self._saving else ():
            for write in op.writes if op.site not in told else ():
                for key in (("storage", write.storage), ("tensor", write.tensor)):
                    if key in self._saving:
                        self._edit(key, write)
        self._seen = end

    def _edit(self, key: _Key, write: Write) -> None:
        counter = self._analysis.capture.tensors[write.tensor].counter
        rest = []
        for saved in self._saving[key]:
            if write.unseen or counter != saved.counter:
                self._edited[saved.node] = None
            else:
                rest.append(saved)
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
