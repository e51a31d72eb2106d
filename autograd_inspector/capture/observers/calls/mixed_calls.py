"""What the backward of one call of a custom Function reads of another call: kept on the class, not on ``ctx``."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograd_inspector.capture.recording.raw_records import (
    FACT_BIRTH,
    FACT_FIRST_USE,
    OP_FIRST,
    OP_INPUTS,
    OP_LAST,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import OtherCallRead

_LOOKS = 4
"""So many times a line of a backward is looked at: the first backward belongs to the last call, and finds its own."""


class MixedCalls:
    """Looks at what a backward has read, for one capture."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._looks: Counter[tuple[str, int]] = Counter()
        self._told: set[str] = set()

    def look(self, name: str, seq: int, at: int, result: Any) -> None:
        """The backward of a Function ran from op ``at`` until now, for the node of that sequence number."""
        read = self._read(name, at) if name not in self._told else ()
        if not read:
            return
        ops = self._recording.ops
        calls = [i for i, op in ops.items() if i < at and op[OP_NAME] == f"{name}.apply" and op[OP_TRAITS] & _FUNCTION]
        own = next((i for i in calls if ops[i][OP_FIRST] <= seq < ops[i][OP_LAST]), -1)
        known = self._known(own) if own >= 0 and len(calls) > 1 else frozenset()
        for tensor in read if known else ():
            other = next((i for i in calls if tensor in ops[i][OP_INPUTS]), self._made_in(calls, tensor))
            if other >= 0 and other != own and tensor not in known:
                self._told.add(name)
                returned = result if isinstance(result, tuple) else (result,)
                self._recording.events.append(
                    OtherCallRead(
                        at,
                        ops[own][OP_SITE],
                        name,
                        own,
                        other,
                        len(ops),
                        (tensor,),
                        tuple(self._recording.id_of(each) for each in returned if isinstance(each, Tensor)),
                    )
                )
                return

    def _read(self, name: str, at: int) -> list[int]:
        """What the ops since then read of what was there before, each line of them a few times."""
        facts, read = self._recording.registry.facts, dict[int, None]()
        sites = {op[OP_SITE] for _, op in self._recording.ops.items(at)}
        fresh = {site for site in sites if self._looks[name, site] < _LOOKS}
        self._looks.update((name, site) for site in fresh)
        for _, op in self._recording.ops.items(at) if fresh else ():
            for tensor in op[OP_INPUTS] if op[OP_SITE] in fresh else ():
                fact = facts.get(tensor)
                if fact is not None and fact[FACT_BIRTH] >= 0 and fact[FACT_FIRST_USE] < at:
                    read[tensor] = None
        return list(read)

    def _known(self, own: int) -> frozenset[int]:
        """What a call was given, and what its forward read and made."""
        ops, known = self._recording.ops, set[int]()
        for tensors in self._within(own):
            known.update(tensors)
        return frozenset(known.union(ops[own][OP_INPUTS]))

    def _within(self, call: int) -> Iterable[tuple[int, ...]]:
        at = call - 1
        while (op := self._recording.ops.get(at) if at >= 0 else None) is not None and op[OP_TRAITS] & _INNER:
            yield op[OP_INPUTS] + op[OP_OUTPUTS]
            at -= 1

    def _made_in(self, calls: list[int], tensor: int) -> int:
        """The call in whose forward a tensor was made; -1: none."""
        fact = self._recording.registry.facts.get(tensor)
        birth = -1 if fact is None else fact[FACT_BIRTH]
        made = self._recording.ops.get(birth) if birth >= 0 else None
        place = bisect_left(calls, birth)
        inner = made is not None and made[OP_TRAITS] & (_INNER | _BACKWARD) == _INNER
        return calls[place] if inner and place < len(calls) else -1


_FUNCTION, _INNER, _BACKWARD = int(Trait.FUNCTION), int(Trait.INNER), int(Trait.BACKWARD)
