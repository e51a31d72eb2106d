"""AG307: a loss that compares each prediction with the targets of all, by broadcasting."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.losses import of_one_shape
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.paired import paired
from autograd_inspector.model.finding import Problem


def broadcast(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in paired(analysis):
        column, row = name_of(analysis, found.column), name_of(analysis, found.row)
        count = analysis.capture.tensors[found.row].shape[0]
        reduced = "" if found.reduced is found.op else f", and `{found.reduced.name}` reduces all the pairs"
        yield Problem(
            "warning",
            f"`{found.op.name}` combines {_shaped(column, f'[{count}, 1]')} with {_shaped(row, f'[{count}]')}: broadcasting pairs "
            f"each element with all {count} elements of the other{reduced}",
            f"Give both the same shape: `.squeeze(1)` on the tensor of shape [{count}, 1], or `.unsqueeze(1)` on the tensor of shape "
            f"[{count}].",
            analysis.places((found.op, "broadcast here"), (found.reduced, "reduced here")),
            (column, row),
            ops=(found.op.index,),
            cures=tuple(of_one_shape(analysis, found)),
        )


def _shaped(name: str, shape: str) -> str:
    """A tensor without a name of its own is called by its shape already."""
    return name if shape in name else f"{name} {shape}"
