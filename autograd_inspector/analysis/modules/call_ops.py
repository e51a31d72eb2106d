"""What ran in the call of a module."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import ModuleCall, Op


def ops_within(capture: Capture, call: ModuleCall) -> Iterator[Op]:
    """The ops of a call, and of those inside of it, in program order."""
    behind = next((other.id for other in capture.calls[call.id + 1 :] if other.parent < call.id), len(capture.calls))
    following = map(capture.ops.__getitem__, range(call.at, len(capture.ops)))
    return takewhile(lambda op: call.id <= op.call < behind, following)
