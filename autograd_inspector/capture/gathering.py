"""Every rank's bytes to one rank, and what that makes of them to every rank: over the process group's store.

No collective of torch.distributed: one that a rank does not join hangs the others, or ends the process, and leaves the
group unusable. The store (torch.distributed.Store: set, get, add, check, delete_key) has no such order, takes
bytes of the CPU whatever the backend is, and shows who has come.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from autograd_inspector.capture.torch_private.distributed import store_of
from autograd_inspector.model.wording import agree

_NAME = "autograd_inspector/gather"
_PIECE = 1 << 20
"""Bytes of one value: a TCPStore refuses large ones."""
_PAUSE = 0.1
"""Seconds between two looks at the store, once one has waited that long."""
_GRACE = 5.0
"""Seconds, at most a tenth of the timeout, that the others leave the first rank to tell who is missing."""

_AGENT, _RESTARTS = "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"
"""By these torchrun tells its ranks that its own store outlives their groups, and how often it began again."""

Merge = Callable[[Mapping[int, bytes]], bytes]


def exchange(part: bytes, merge: Merge, *, timeout: float, group: Any) -> bytes:
    """Call ``merge({rank: its bytes})`` on the group's first rank; every rank gets what it returns.

    Without a process group this process is rank 0 of one. Raises TimeoutError with the ranks that did not respond
    within ``timeout`` seconds (the group can be used as before, and a later call starts anew), ValueError where this
    process is not in ``group``, RuntimeError where the group has no store (MPI) or merging failed.
    """
    if not timeout > 0:
        raise ValueError(f"gather: timeout is a positive number of seconds, got {timeout!r}")
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return merge({0: part})
    if distributed.get_rank(group) < 0:
        raise ValueError("gather: this process is not in the given group")
    process_group = distributed.group.WORLD if group is None else group
    ranks = distributed.get_process_group_ranks(process_group)
    meeting = _Meeting(_store_or_error(process_group), ranks, distributed.get_rank(), timeout)
    return meeting.lead(part, merge) if meeting.rank == ranks[0] else meeting.follow(part)


def left_behind(
    part: bytes, *, rank: int, world: int, timeout: float, hurry: Callable[[], bool], name: str = "ended"
) -> dict[int, bytes | None] | None:
    """On rank 0 what each rank left when its program had ended, None for a rank that left nothing in time.

    The other ranks leave ``part`` and go; they get None, as does rank 0 where no store is left through which to meet:
    the program has ended its process group, and the launcher keeps no store of its own. ``hurry``: others end already.
    ``name``: of the occasion, the same on all ranks, and another one for each.
    """
    store = _store_at_the_end()
    if store is None:
        return None
    meeting = _Meeting(store, list(range(world)), rank, timeout, f"{name}/{os.environ.get(_RESTARTS, '0')}")
    if rank:
        meeting.leave(part)
        return None
    return meeting.collect(part, hurry)


def _store_at_the_end() -> Any:
    """The process group's, else the launcher's, to which torchrun has given the address."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return None
    try:
        if distributed.is_initialized():
            return store_of(distributed.group.WORLD)
        if os.environ.get(_AGENT) == "True":
            address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
            return distributed.TCPStore(address, port, is_master=False, timeout=timedelta(seconds=_GRACE))
    except (RuntimeError, KeyError, ValueError):
        return None
    return None


def _store_or_error(group: Any) -> Any:
    store = store_of(group)
    if store is None:
        raise RuntimeError(
            "gather: this process group has no store (as with MPI): write report.to_json() into a file on each rank "
            "and run `autograd-inspect merge` on them"
        )
    return store


class _Meeting:
    """One round. Its number stands in the store, so that ranks that come late or again meet in the next one."""

    def __init__(self, store: Any, ranks: list[int], rank: int, timeout: float, name: str = "") -> None:
        self.store = store
        self.ranks = ranks
        self.rank = rank
        self.timeout = timeout
        self.ends = time.monotonic() + timeout
        self.round = name or store.add(f"{_NAME}/round", 0)

    def lead(self, part: bytes, merge: Merge) -> bytes:
        """Wait for the others, merge, publish; whatever goes wrong is published too, so that nobody waits in vain."""
        others = [rank for rank in self.ranks if rank != self.rank]
        self.store.set(self._key(f"here/{self.rank}"), "1")
        self._wait([f"here/{rank}" for rank in others], self.ends)
        missing = self._missing()
        try:
            parts = {rank: self._take(f"part/{rank}") for rank in others if rank not in missing}
            answer = (
                b"!" + self._missing_text(missing).encode() if missing else b"=" + merge({self.rank: part, **parts})
            )
        except Exception as failure:
            answer = b"?" + f"gather: {type(failure).__name__}: {failure}".encode(errors="replace")
        self.store.add(f"{_NAME}/round", 1)
        for rank in self.ranks:
            self.store.delete_key(self._key(f"here/{rank}"))
        if len(others) > len(missing):
            self._put("result", answer)
        return _answered(answer)

    def leave(self, part: bytes) -> None:
        """Put a part there, and wait for nobody."""
        self._put(f"part/{self.rank}", part)
        self.store.set(self._key(f"here/{self.rank}"), "1")

    def collect(self, part: bytes, hurry: Callable[[], bool]) -> dict[int, bytes | None]:
        """What the others left, as far as they come."""
        self.store.set(self._key(f"here/{self.rank}"), "1")
        while self._missing() and time.monotonic() < self.ends:
            if hurry():
                self.ends = min(self.ends, time.monotonic() + _GRACE)
            time.sleep(_PAUSE)
        missing = self._missing()
        here = [rank for rank in self.ranks if rank != self.rank and rank not in missing]
        for rank in (self.rank, *here):
            self.store.delete_key(self._key(f"here/{rank}"))
        return dict.fromkeys(self.ranks) | {self.rank: part} | {rank: self._take(f"part/{rank}") for rank in here}

    def follow(self, part: bytes) -> bytes:
        """Send the part, wait for what the first rank makes of all; one that gives up takes its part with it."""
        count = self._put(f"part/{self.rank}", part)
        self.store.set(self._key(f"here/{self.rank}"), "1")
        if not self._wait(["result"], self.ends + min(_GRACE, self.timeout / 10)):
            missing = self._missing() or self.ranks[:1]
            self.store.delete_key(self._key(f"here/{self.rank}"))
            self._drop(f"part/{self.rank}", count)
            raise TimeoutError(self._missing_text(missing))
        readers = self.store.add(self._key("read"), 1)
        return _answered(self._take("result", keep=readers < len(self.ranks) - 1))

    def _missing(self) -> list[int]:
        return [rank for rank in self.ranks if not self.store.check([self._key(f"here/{rank}")])]

    def _missing_text(self, missing: list[int]) -> str:
        names = f"{agree(missing, 'rank', 'ranks')} {', '.join(map(str, missing))}"
        return f"gather: {names} of {len(self.ranks)} did not respond within {self.timeout:g} s"

    def _key(self, name: str) -> str:
        return f"{_NAME}/{self.round}/{name}"

    def _wait(self, names: list[str], until: float) -> bool:
        """Whether the keys came. Asked again and again: ``Store.wait`` would lock out the other threads that use it."""
        keys = [self._key(name) for name in names]
        pause = 0.001
        while keys and not self.store.check(keys):
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE)
        return True

    def _put(self, name: str, data: bytes) -> int:
        """Write in pieces; returns how many, which stands under the name itself."""
        packed = zlib.compress(data)
        pieces = [packed[at : at + _PIECE] for at in range(0, len(packed), _PIECE)]
        for number, piece in enumerate(pieces):
            self.store.set(f"{self._key(name)}/{number}", piece)
        self.store.set(self._key(name), str(len(pieces)))
        return len(pieces)

    def _take(self, name: str, *, keep: bool = False) -> bytes:
        count = int(self.store.get(self._key(name)))
        packed = b"".join(self.store.get(f"{self._key(name)}/{number}") for number in range(count))
        if not keep:
            self._drop(name, count)
        return zlib.decompress(packed)

    def _drop(self, name: str, count: int) -> None:
        for number in range(count):
            self.store.delete_key(f"{self._key(name)}/{number}")
        self.store.delete_key(self._key(name))


def _answered(answer: bytes) -> bytes:
    kind, rest = answer[:1], answer[1:]
    if kind == b"!":
        raise TimeoutError(rest.decode())
    if kind == b"?":
        raise RuntimeError(rest.decode())
    return rest
