"""Which op computed the numbers of a tensor, apart from those that only hand them on."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_HANDED_ON = OpKind.VIEWS | OpKind.RESHAPES | OpKind.CONVERTS | OpKind.COPIES


def computed_by(analysis: Analysis, tensor: int) -> Op | None:
    """The op that computed the numbers, None where they were there before the capture began."""
    made = analysis.flow.birth(tensor)
    while made is not None and is_a(made.name, _HANDED_ON) and made.inputs:
        made = analysis.flow.birth(made.inputs[0])
    return made


def handed_on(analysis: Analysis, tensor: int) -> int:
    """The tensor whose numbers these are, before they were viewed, converted or copied."""
    made = analysis.flow.birth(tensor)
    while made is not None and is_a(made.name, _HANDED_ON) and made.inputs:
        tensor = made.inputs[0]
        made = analysis.flow.birth(tensor)
    return tensor
