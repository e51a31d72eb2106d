"""Keeps Dynamo out of what of ours runs in the program's own calls, wherever it looks on.

It does so while a backward runs between two graphs, say, and meets all that torch and Python's library call there.
"""

from __future__ import annotations

from types import CodeType

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.torch_private.compiled import keep_out_of
from autograd_inspector.capture.undisturbed.instrumented import Probe
from autograd_inspector.capture.undisturbed.stand_ins import STANDING_IN

_CODES: dict[int, CodeType] = {}
"""Of the probes so far, by Python's ids: Dynamo may be imported after them."""
_TOLD: set[type[Probe]] = set()
"""The kinds of probes that Dynamo was told of: each capture puts about a hundred in place, always of the same kinds."""


def keep_out(probe: Probe) -> None:
    """Of what a probe does in a call."""
    kind = type(probe)
    if kind in _TOLD:
        return
    codes = [code for code in map(code_of, (kind.before, kind.after, kind.failed)) if code is not None]
    _CODES.update((id(code), code) for code in codes)
    if keep_out_of(codes):
        _TOLD.add(kind)


def keep_out_of_all() -> None:
    """Of the probes that there are, now that Dynamo is there, and of what stands in for a function, but not of that."""
    keep_out_of(_CODES.values())
    keep_out_of([STANDING_IN], inside=False)
