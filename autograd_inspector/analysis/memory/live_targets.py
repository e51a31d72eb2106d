"""Parameters that were kept as they are, without a copy, for a target network: the trained one computes its own targets.

`params = net.state_dict()` of functional code is a window on the parameters: what is computed with it follows each step.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.snapshots import Snapshot, changed_since, taken_as_alias
from autograd_inspector.model.op import Op, Trait


def live_targets(analysis: Analysis) -> Iterator[Snapshot]:
    """Of each parameter once: a module computed with an alias of it, kept since before a step, a constant of a loss.

    The loss trains that very parameter. An alias that is taken after the step is a way to ask the current network.
    """
    capture = analysis.capture
    trained = {capture.tensors[t].storage: t for t in analysis.optimized_trainable & analysis.received_gradient}
    told: set[int] = set()
    behind: dict[int, frozenset[int]] = {}
    for record in capture.tensors if trained else ():
        own = trained.get(record.storage, -1)
        if own < 0 or own in told or record.requires_grad or record.kind == "parameter" or record.id == own:
            continue
        taken = taken_as_alias(analysis, record.id)
        for used in _computed_with(analysis, record.id) if taken is not None else ():
            changed = changed_since(analysis, record.id, taken, used) if taken is not None else None
            if taken is None or changed is None or not changed.has(Trait.STEP):
                continue
            if _teaches(analysis, used, own, behind):
                told.add(own)
                yield Snapshot(record.id, own, taken, changed, used, restores=False, teaches=True)
                break


def _computed_with(analysis: Analysis, tensor: int) -> Iterator[Op]:
    """The ops of modules that read it in the place of a parameter, where autograd records nothing."""
    for at in analysis.capture.readers.get(tensor, ()):
        op = analysis.capture.ops[at]
        if op.call >= 0 and not op.recorded and not op.writes:
            yield op


def _teaches(analysis: Analysis, used: Op, own: int, behind: dict[int, frozenset[int]]) -> bool:
    """Whether the next loss that trains the parameter was computed with what the op led to."""
    run = next((r for r in analysis.timeline.backwards_to(own).since(used.index) if r.completed), None)
    if run is None:
        return False
    if run.index not in behind:
        upstream = analysis.flow.upstream([(root, run.start) for root in run.roots])
        behind[run.index] = frozenset(op.index for op, _ in upstream)
    return used.index in behind[run.index]
