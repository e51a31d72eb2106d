"""Dropouts that draw in eval mode, because their call did not say whether anything is being trained."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.op import ModuleCall, Op, Trait


class UntoldDropout(Struct, frozen=True):
    """A dropout that dropped values in a module in eval mode."""

    op: Op
    call: ModuleCall


def untold_dropouts(analysis: Analysis) -> Iterator[UntoldDropout]:
    """Each line once."""
    told: set[object] = set()
    calls = analysis.capture.calls
    for op in having(analysis.capture, Trait.UNTOLD):
        if op.call >= 0 and not calls[op.call].training:
            line = line_of(analysis, op.site)
            if line not in told:
                told.add(line)
                yield UntoldDropout(op, calls[op.call])
