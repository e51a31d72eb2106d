"""Where torch.compile's code begins and ends."""

from __future__ import annotations

import sys

from autograd_inspector.capture.torch_private.resolving import (
    MISSING,
    TABLE,
    Place,
    UnsupportedTorch,
    attribute,
    looked_up,
    spelled,
)

_HOME = "torch._dynamo.eval_frame"
_UNSEEN = "programs that call torch.compile are not observed"

COMPILED_CALL = spelled(
    f"{_HOME}:_TorchDynamoContext.__call__.compile_wrapper",
    "torch's function around every compiled call: it switches dynamo on before and restores it after",
    without=_UNSEEN,
    late=True,
)
SWITCH = Place(f"{_HOME}:_maybe_set_eval_frame", "where dynamo is switched on and off", without=_UNSEEN, late=True)
COMPILED_MODULE = Place(
    f"{_HOME}:OptimizedModule.__call__", "the call of a compiled module", without=_UNSEEN, late=True
)
original_of = attribute(
    f"{_HOME}:OptimizedModule.__init__._orig_mod",
    "the name of a compiled module",
    without="compiled modules have no names",
    late=True,
)
_compilers = looked_up(f"{_HOME}:cached_backends", "whether anything was compiled so far")


def dynamo_shows_itself(*, used: bool) -> bool:
    """Whether dynamo is there, and shows where compiled code begins and ends.

    Where it does not, it would trace the observers too: UnsupportedTorch if it is ``used``, or was before.
    """
    if _HOME not in sys.modules:
        return False
    gone = [name for name in TABLE.values() if name.without == _UNSEEN and name.missing]
    if gone and (used or _compilers() is MISSING or _compilers()):
        raise UnsupportedTorch(gone, "where torch.compile is used")
    return not gone
