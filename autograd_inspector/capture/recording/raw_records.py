"""What an observer writes for each op and each tensor: plain tuples, for nothing else is made as fast. Their places."""

from __future__ import annotations

from typing import Any, Final

RawOp = tuple[
    str, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[Any, ...], int, int, int, int, int, int, str
]
"""(name, inputs, versions, outputs, writes, site, call, region, traits, first_seq, last_seq, error)"""

OP_NAME: Final = 0
OP_INPUTS: Final = 1
OP_VERSIONS: Final = 2
OP_OUTPUTS: Final = 3
OP_WRITES: Final = 4
OP_SITE: Final = 5
OP_CALL: Final = 6
OP_REGION: Final = 7
OP_TRAITS: Final = 8
OP_FIRST: Final = 9
"""The sequence number before the op."""
OP_LAST: Final = 10
"""The one after it: another where it made autograd nodes."""
THREAD: Final = 1 << 48
"""Each thread counts for itself: in the first of the engine's both are less by this, in the next by twice as much."""
OP_ERROR: Final = 11

Fact = tuple[Any, Any, Any, bool, int, Any, bool, int, int, int]
"""(shape, dtype, device, is_leaf, offset, stride, inference, storage, birth, first_use).

``is_leaf`` False of an op's output: its op knows better, whether it made a node.
``stride`` None: it covers its storage densely from the start, as whatever has just allocated it does.
"""

FACT_LEAF: Final = 3
FACT_BIRTH: Final = 8
FACT_FIRST_USE: Final = 9
