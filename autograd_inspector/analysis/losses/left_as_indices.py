"""All that is computed of a parameter leaves torch as an index, which chooses what is computed then."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.model.op import Op, Trait

_MOST = 300
"""So many ops are looked at behind a parameter."""


def exports_of(analysis: Analysis, tensor: int) -> tuple[Op, ...]:
    """The ops that took everything out of torch, as indices, that was computed of a parameter before the last backward.

    None where something else became of a part of it: a head's loss that is left out, or logged.
    """
    capture = analysis.capture
    end = max((run.start for run in capture.completed_runs), default=0)
    exports: dict[int, Op] = {}
    met, todo = {tensor}, [tensor]
    while todo:
        read = False
        made = todo.pop()
        for index in capture.readers.get(made, ()):
            op = capture.ops[index]
            if index >= end or op.has(Trait.STEP | Trait.BACKWARD):
                continue
            read = True
            if op.has(Trait.EXPORT):
                if any(differentiable(capture.tensors[each].dtype) for each in op.inputs):
                    return ()  # A loss that is only logged chooses nothing.
                exports[op.site] = op
            todo += [each for each in op.outputs if each not in met]
            met.update(op.outputs)
        if not read or len(met) > _MOST:
            return ()
    return tuple(sorted(exports.values(), key=lambda op: op.index))
