"""AG202 through NumPy: an array that shares a saved tensor's memory is written."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.saved_tensors import saved_name, saver_name
from autograd_inspector.advice.spelling import copied_array
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.array_memory import Memory, aliased
from autograd_inspector.analysis.unseen_edits.array_writes import Use, WritingLine
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, Rename


class Arrays:
    """NumPy aliases of saved tensors that the source writes to: likely, for NumPy's writes cannot be observed."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        memory = Memory(analysis) if analysis.capture.alias_writes else None
        self._lines = {site: WritingLine(analysis, memory, site) for site in memory.sites} if memory is not None else {}

    def edits(self, place: int, seen: set[int]) -> Iterator[Problem]:
        """Those that a run may have met; ``seen`` are the sites that were told."""
        self._lines = {site: line for site, line in self._lines.items() if site not in seen}
        uses = [met for line in self._lines.values() if (met := line.met(place)) is not None]
        for use in sorted(uses, key=lambda use: use.writer.order):
            seen.add(use.writer.alias.site)
            yield _finding(self._analysis, self._analysis.run_graphs.runs[place], use)


def _finding(analysis: Analysis, run: Backward, use: Use) -> Problem:
    alias = use.writer.alias
    if isinstance(use.by, Op):
        name = name_of(analysis, aliased(analysis, alias))
        kept = f"passed to a checkpoint, which recomputes `{use.by.name}`"
    else:
        name, kept = saved_name(analysis, *use.by), f"saved for backward by {saver_name(analysis, use.by[0])}"
    return written_through_numpy(analysis, run, alias, name, kept)


def written_through_numpy(analysis: Analysis, run: Backward, alias: AliasWrite, name: str, kept: str) -> Problem:
    """What to say of a tensor of that name; ``kept``: what backward has it for."""
    op = analysis.capture.ops[alias.op]
    inward = op.name == "from_numpy"
    return Problem(
        "warning",
        f"{name} was {kept} and its memory is written through NumPy "
        f"(`{alias.how}`): no version counter moves, so the gradients are likely wrong",
        "Copy the array: `torch.tensor(array)`, or fill a new array for each batch."
        if inward
        else f"Work on a copy: {copied_array(name)}, or an out-of-place NumPy call.",
        analysis.places(
            (alias, "written through NumPy here"),
            (op, "memory shared with the array here" if inward else "NumPy alias made here"),
            (run, "backward used the memory here"),
        ),
        (name,),
        ("Likely, from the source: NumPy's own writes cannot be observed.",),
        (alias.op,),
        tuple(
            (Rename(place, "tensor") if inward else Operand(place, "whole", "{}.copy()"),)
            for place in analysis.user_frames(op.site, "")[:1]
        ),
    )
