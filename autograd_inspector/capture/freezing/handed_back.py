"""Who takes what a call returned: a statement of the same function, or of one that this one returned it to."""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import CodeType
from typing import NamedTuple

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.recording.raw_records import (
    OP_ERROR,
    OP_INPUTS,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait

ENTRY = "STORE_SUBSCR"
_PUSHED = 5
_RETURNS = "RETURN_VALUE"
_EFFECT = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.EXPORT | Trait.COLLECTIVE)
_Chain = Sequence[tuple[CodeType, int, bool]]


class Taking(NamedTuple):
    """The instruction ``by`` takes a result, in the frame at place ``depth`` of the ``chain`` of who made it.

    ``line`` gives it its last name, 0 where none does.
    """

    by: str
    chain: _Chain
    depth: int
    line: int

    @property
    def function(self) -> str:
        """The function of the program's that returned it to there; "" where it was made there."""
        return self.chain[self.depth - 1][0].co_name if self.depth else ""


class HandedBack:
    """Follows results to who takes them; each function is read once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._takers: dict[CodeType, tuple[list[int], list[tuple[str, int]]]] = {}

    def taking(self, site: int, methods: tuple[str, ...] = ()) -> Taking | None:
        """Who takes the results of the ops of a site; None where that is a library's business.

        Or that of a function of torch's, but for ``methods``: it may put the result where it belongs.
        """
        stacks = self._recording.stacks
        chain = stacks.chains[site] if 0 <= site < len(stacks.chains) else []
        through = stacks.through.get(site, "")
        if not chain or chain[0][2] or (through and not (methods and through.startswith(methods))):
            return None
        depth = 0
        by, line = self._of(*chain[0][:2])
        while by == _RETURNS and depth + 1 < len(chain) and not chain[depth + 1][2]:
            depth += 1
            by, line = self._of(*chain[depth][:2])
        return Taking(by, chain, depth, line)

    def site(self, taking: Taking) -> int:
        """The site of who takes it: the line that gives it its last name, else the call."""
        stacks = self._recording.stacks
        outer = stacks.of_frames(taking.chain[taking.depth :], -1)
        return stacks.of_line(outer, taking.line) if taking.line else outer

    def inside(self, taking: Taking) -> list[RawOp]:
        """The ops that ran in the call that handed it back, all that the same line made of that call."""
        return [op for op in self._ops() if op[OP_SITE] in self._within(taking)]

    def without_effect(self, taking: Taking) -> bool:
        """Whether that call did nothing but compute: it wrote, showed and kept nothing, and no gradient came to it."""
        recording, within = self._recording, self._within(taking)
        ops = [op for op in self._ops() if op[OP_SITE] in within]
        made = {tensor for op in ops for tensor in op[OP_OUTPUTS]}
        used = {hook.tensor for hook in recording.tensor_hooks} | {r for run in recording.backwards for r in run.roots}
        used |= {tensor for op in self._ops() if op[OP_SITE] not in within for tensor in op[OP_INPUTS]}
        entries = (recording.registry.entries.get(tensor) for tensor in made)
        return (
            made.isdisjoint(recording.registry.looked_at)
            and made.isdisjoint(used)
            and not any(op[OP_WRITES] or op[OP_ERROR] or op[OP_TRAITS] & _EFFECT for op in ops)
            and all(entry is None or entry() is None for entry in entries)
        )

    def serves_elsewhere(self, taking: Taking) -> bool:
        """Whether that function is also called from another place."""
        function, outer = taking.chain[taking.depth - 1][0], taking.chain[taking.depth][:2]
        return any(
            code is function and caller[:2] != outer
            for chain in self._recording.stacks.chains
            for (code, _, _), caller in pairwise(chain)
        )

    def _ops(self) -> Iterator[RawOp]:
        return (op for _, op in self._recording.ops.items())

    def _within(self, taking: Taking) -> set[int]:
        """The sites beneath the call; of a deep stack the outermost frames are not known."""
        outer, chains = list(taking.chain[taking.depth :]), self._recording.stacks.chains
        return {
            site
            for site, chain in enumerate(chains)
            if any(chain[at : at + len(outer)] == outer[: len(chain) - at] for at in range(1, len(chain)))
        }

    def _of(self, code: CodeType, lasti: int) -> tuple[str, int]:
        """(the instruction that takes what the one there returned, "" unknown; the line that gives it its last name).

        A frame that has called a function in Python stands at the cache behind its call.
        """
        known = self._takers.get(code)
        if known is None:
            those = [each for each in instructions(code) if each.opname != "CACHE"]
            takers = [
                (_taker([each.opname for each in those[at : at + _PUSHED]]), _named_at(those[at:]))
                for at in range(1, len(those) + 1)
            ]
            known = self._takers[code] = [each.offset for each in those], takers
        offsets, takers = known
        at = bisect_right(offsets, lasti) - 1
        return takers[at] if at >= 0 else ("", 0)


def _taker(following: list[str]) -> str:
    """The instruction that takes a value: to store it in a container, that and the key are pushed on top of it."""
    storing = following.index(ENTRY) if ENTRY in following else 0
    if all(opname.startswith("LOAD_") for opname in following[:storing]):
        return following[storing] if following else ""
    return following[0]


def _named_at(following: list[dis.Instruction]) -> int:
    """The line that gives a value which is stored in a variable another name at once (``new = f(x)``, ``old = new``).

    0 where none does.
    """
    line = 0
    for stored, loaded, named in zip(following[::2], following[1::2], following[2::2], strict=False):
        kinds = stored.opname, loaded.opname, named.opname
        if kinds != ("STORE_FAST", "LOAD_FAST", "STORE_FAST") or loaded.argval != stored.argval:
            break
        line = (named.positions.lineno or 0) if named.positions is not None else 0
    return line
