"""AG202 through NumPy: an array that shares a saved tensor's memory is written."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.saved_tensors import Saved, made_at, saved_name, saver_name
from autograd_inspector.advice.spelling import copied_array
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.ag202_unseen_edit.recomputed_forwards import key_of
from autograd_inspector.rules.ag202_unseen_edit.slices import inside_slices


class Arrays:
    """NumPy aliases of saved tensors that the source writes to: likely, for NumPy's writes cannot be observed."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        aliases = analysis.capture.alias_writes
        self._again = [node.index for node in analysis.shared.repeated() if node.saved] if aliases else []

    def edits(self, place: int, seen: set[int]) -> Iterator[Problem]:
        """Those that a run may have met; ``seen`` are the sites that were told."""
        analysis, run = self._analysis, self._analysis.shared.runs[place]
        aliases = [alias for alias in analysis.capture.alias_writes if alias.op < run.start and alias.site not in seen]
        nodes = analysis.shared.with_some(place, self._again) if aliases else []
        for alias in aliases:
            op = analysis.capture.ops[alias.op]
            tensor = (op.outputs if op.name == "from_numpy" else op.inputs)[0]
            told = _told(analysis, run, nodes, alias, tensor) if alias.site not in seen else None
            if told is not None:
                seen.add(alias.site)
                yield _finding(analysis, run, alias, *told)


def _finding(analysis: Analysis, run: Backward, alias: AliasWrite, name: str, kept: str) -> Problem:
    op = analysis.capture.ops[alias.op]
    inward = op.name == "from_numpy"
    return Problem(
        "warning",
        f"{name} was {kept} and its memory is written through NumPy "
        f"(`{alias.how}`): no version counter moves, so the gradients are likely wrong",
        "Copy the array: `torch.tensor(array)`, or fill a new array for each batch."
        if inward
        else f"Work on a copy: {copied_array(name)}, or an out-of-place NumPy call.",
        dedupe_locations(
            [
                *analysis.user_frames(alias.site, "written through NumPy here"),
                *analysis.user_frames(
                    op.site, "memory shared with the array here" if inward else "NumPy alias made here"
                ),
                *analysis.user_frames(run.site, "backward used the memory here"),
            ]
        ),
        (name,),
        ("Likely, from the source: NumPy's own writes cannot be observed.",),
        (alias.op,),
    )


def _told(
    analysis: Analysis, run: Backward, nodes: list[Node], alias: AliasWrite, tensor: int
) -> tuple[str, str] | None:
    """(the tensor's name, what keeps it) where the write comes after that and before backward used it."""
    storage = analysis.capture.tensors[tensor].storage
    if _order(analysis, run.site, alias.site) < 0 or storage < 0:
        return None
    hit = _hit(analysis, nodes, alias, storage)
    if hit is not None:
        return saved_name(analysis, *hit), f"saved for backward by {saver_name(analysis, hit[0])}"
    again = _recomputed(analysis, run, alias, storage)
    return (
        (analysis.display_name(tensor), f"given to a checkpoint, which computes `{again.name}` again")
        if again
        else None
    )


def _recomputed(analysis: Analysis, run: Backward, alias: AliasWrite, storage: int) -> Op | None:
    """An op of the recomputation that reads the memory, as it did in the forward before the write."""
    capture = analysis.capture
    reads = [op for op in capture.ops[: run.end] if any(capture.tensors[t].storage == storage for t in op.inputs)]
    before = {
        key_of(analysis, op)
        for op in reads
        if not op.has(Trait.BACKWARD) and (op.index < alias.op or _order(analysis, op.site, alias.site) < 0)
    }
    # Recomputation may stop inside an op, once that has saved what is wanted: it has made no node then.
    again = (op for op in reads if op.has(Trait.BACKWARD) and op.index >= run.start)
    return next((op for op in again if key_of(analysis, op) in before), None)


def _hit(analysis: Analysis, nodes: list[Node], alias: AliasWrite, storage: int) -> Saved | None:
    """The saved tensor that the write reaches after it was saved."""
    for node in nodes:
        for saved in (*node.saved, *inside_slices(analysis, node)):
            if saved.storage != storage or saved.status != "valid" or saved.unused:
                continue
            later = made_at(node) <= alias.op
            if later or (node.op >= 0 and _order(analysis, analysis.capture.ops[node.op].site, alias.site) < 0):
                return node, saved
    return None


def _order(analysis: Analysis, site: int, write: int) -> int:
    """Whether a site stands before (-1) or after (1) the write in the write's own function; 0: not in it."""
    place = analysis.capture.place(write)
    for frame in analysis.capture.site(site):
        if place is not None and (frame.filename, frame.function) == (place.filename, place.function):
            return (frame.lineno > place.lineno) - (frame.lineno < place.lineno)
    return 0
