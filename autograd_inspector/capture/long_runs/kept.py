"""Results of earlier training steps that the program still holds: what a list of losses keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_inspector.capture.engine.history import has_history
from autograd_inspector.capture.lines.keepers import keeper
from autograd_inspector.capture.registry import Registry
from autograd_inspector.model.event import Kept as KeptRecord

if TYPE_CHECKING:
    from autograd_inspector.capture.tape import Tape


_HELD = 512
"""So many results are followed, the latest: the graphs of a program that keeps more are not searched at every step."""


class Kept:
    """Looks, whenever a backward begins, which results of earlier backwards' graphs are still alive.

    A variable that the loop assigns anew has let go of the older ones by then; a list has not. The backwards of one
    ``optimizer.step(closure)`` are one round, however often it calls the closure: the variable still holds what the
    step before returned, and the optimizer what the first call did.
    """

    def __init__(self) -> None:
        self.most: tuple[tuple[int, int], ...] = ()
        """(tensor, in which step it was made), when most of them were met at once."""
        self._held: dict[int, int] = {}
        self._steps = 0
        self._start = 0
        self._in_step = False
        self._looked = False

    def tensors(self) -> set[int]:
        """All that it knows of."""
        return {*self._held, *(tensor for tensor, _ in self.most)}

    def in_step(self, *, opened: bool) -> None:
        """An optimizer step begins, or is over."""
        self._in_step, self._looked = opened, False

    def step(self, registry: Registry) -> None:
        """A backward begins."""
        if self._looked:
            self._steps -= 1  # The closure was called again.
        self._looked = self._in_step
        entries = registry.entries
        fresh = {number: self._steps for number, entry in entries.items(self._start) if entry.requires_grad}
        self._start = len(entries)
        held = {}
        for number, tensor in registry.alive(self._held | fresh):
            if has_history(tensor):
                held[number] = self._held.get(number, self._steps)
        older = tuple((number, step) for number, step in held.items() if step < self._steps)
        if len(older) > max(len(self.most), 1):
            self.most = older
        self._held = dict(list(held.items())[-_HELD:])
        self._steps += 1


def kept_records(tape: Tape) -> tuple[KeptRecord, ...]:
    """What was kept, with the line that puts it away where the source shows one."""
    found: dict[int, int] = {}
    records = []
    for tensor, step in tape.kept.most:
        birth = tape.registry.facts[tensor][8]
        site = tape.ops[birth][5] if birth >= 0 else -1
        if site not in found:
            found[site] = keeper(tape.stacks, site) if site >= 0 else -1
        records.append(KeptRecord(tensor, step, found[site]))
    return tuple(records)
