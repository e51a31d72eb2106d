"""AG403 where nothing was loaded: the parameter was given another shape after its state was made."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.model.wording import join_names, summarize_names


def reshaping(analysis: Analysis, row: ParameterRow, entry: StateEntry) -> Op | None:
    """The assignment to the parameter's ``.data`` since which it has another shape than its state."""
    assignment = None
    loads = [load.at for load in analysis.timeline.loads_of(row.optimizer).all]
    writes = analysis.writes_to(-1, row.tensor, max(loads, default=0), len(analysis.capture.ops))
    for op in [op for op, _ in writes if assigns(op)][::-1]:
        if analysis.capture.tensors[op.inputs[0]].shape == entry.shape:
            break
        assignment = op
    return assignment


def resized(
    analysis: Analysis,
    optimizer: OptimizerRecord,
    unfit_entries: list[tuple[ParameterRow, StateEntry]],
    ops: Iterable[Op],
) -> Problem:
    """One finding for all parameters of an optimizer that were given another shape."""
    row, entry = unfit_entries[0]
    names = [r.name for r, _ in unfit_entries]
    kinds = list(dict.fromkeys(e.name for _, e in unfit_entries))
    steps = analysis.timeline.steps_of(optimizer.id).all
    raised = any(step.error for step in steps)
    sites = dict.fromkeys(op.site for op in ops)
    return Problem(
        "error" if raised else "warning",
        f"{optimizer.type}: an assignment to `.data` changed the shape of {summarize_names(names)}, but the state ({join_names(kinds, 4)}) "
        f"still has the old shape ({entry.name} {list(entry.shape)}, {row.name} "
        f"{list(row.shape)})",
        "Create a new nn.Parameter and a new optimizer when a shape changes. Otherwise change the state the same way, "
        f'`optimizer.state[parameter]["{kinds[0]}"] = ...`, or drop it: `optimizer.state.pop(parameter)`.',
        analysis.places(
            *((site, "shape changed here") for site in sites),
            *((step, "stepped with the old state here") for step in steps[-1:]),
            (optimizer, "optimizer created here"),
        ),
        (*names, *kinds),
    )
