"""Options that the program writes where no step reads them: ``optimizer.defaults["lr"]``, ``optimizer.lr``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import module_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.observers.optimizers.groups import groups_of, table
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.resolving import read_own
from autograd_inspector.model.program_events import OptionStray
from autograd_inspector.source.option_writes import OptionWrites

_TORCHS = "torch.optim."
"""Another class may read its own attributes."""
_NUMBERS = Kinds(int, float)
_Written = dict[tuple[str, str], Any]
"""(what it is an entry of, the option) -> its number."""


class StrayOptions:
    """Compares what stands there with what stood there when the optimizer was met; each option is told once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._first: dict[int, _Written] = {}
        self._told: set[tuple[int, str, str]] = set()

    def met(self, optimizer: Optimizer, number: int) -> None:
        """What stands there now is as it was made."""
        if module_of(type(optimizer)).startswith(_TORCHS):
            self._first[number] = dict(_written(optimizer))

    def stepped(self, optimizer: Optimizer, number: int, site: int) -> None:
        """Note what was written since, where none of the groups has that number."""
        first = self._first.get(number)
        if first is None:
            return
        for (owner, option), value in _written(optimizer):
            if first.get((owner, option)) == value or (number, owner, option) in self._told:
                continue
            values = [group.get(option) for group in groups_of(optimizer)]
            if values and all(type(each) in _NUMBERS and each != value for each in values):
                self._told.add((number, owner, option))
                recording, kind = self._recording, type(optimizer).__name__
                at = self._line(site, owner, option)
                recording.events.append(OptionStray(len(recording.ops), at, number, kind, owner, option))

    def _line(self, site: int, owner: str, option: str) -> int:
        """The line that wrote it: in one of the functions that were running, else the only one of their files.

        Any object may have an attribute of that name; ``defaults`` are an optimizer's.
        """
        stacks, others = self._recording.stacks, -1
        for code, lasti, library in stacks.chains[site] if site >= 0 else ():
            source = None if library else source_at(code.co_filename)
            if source is None:
                continue
            writes = source.index(OptionWrites)
            line = writes.within(source.scope_at(compiled(code, lasti, library=False).lineno), owner, option)
            if line:
                return stacks.of_code(code, line)
            only = writes.only(option) if owner == "defaults" and others < 0 else 0
            others = stacks.of_code(code, only) if only else others
        return others


def _written(optimizer: Optimizer) -> Iterator[tuple[tuple[str, str], Any]]:
    """The numbers among an optimizer's defaults, and among its own attributes that are called like an option."""
    defaults = table(read_own(optimizer, "defaults"))
    for option, value in dict.items(defaults):
        if type(option) is str and type(value) in _NUMBERS:
            yield ("defaults", option), value
            own = read_own(optimizer, option)
            if type(own) in _NUMBERS:
                yield ("", option), own
