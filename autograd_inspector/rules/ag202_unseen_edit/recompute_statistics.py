"""AG202 under checkpointing: running statistics, which the recomputation updates a second time."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag202_unseen_edit.recomputed_forwards import key_of, keys_of


def statistics_twice(analysis: Analysis) -> Iterator[Problem]:
    """One finding for all layers: the gradients are right, and the averages follow the data twice as fast."""
    capture = analysis.capture
    first: dict[object, Op] = {}
    twice: dict[int, Op] = {}
    for op in ops_of(capture, OpKind.KEEPS_STATISTICS):
        if not op.writes:
            continue
        if not op.has(Trait.BACKWARD):
            first.update(dict.fromkeys(keys_of(analysis, op), op))
        elif (before := first.get(key_of(analysis, op))) is not None:
            twice.update({w.tensor: before for w in op.writes if w.tensor in {each.tensor for each in before.writes}})
    if twice:
        names = names_of(analysis, twice)
        yield Problem(
            "info",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} updated twice in each step: backward runs the checkpointed "
            "function again, and its normalization updates its running statistics again",
            "Leave the normalization out of the checkpoint.",
            analysis.places((next(iter(twice.values())), "statistics updated here, and again in backward")),
            tuple(names),
            ("With the momentum `1 - (1 - momentum) ** 0.5` two updates have the effect of one.",),
        )
