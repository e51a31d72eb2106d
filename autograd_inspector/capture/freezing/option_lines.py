"""Where the program set an option of an optimizer that it had made, read off the source of who stepped it."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import OptionSet
from autograd_inspector.source.entries_set import EntriesSet


def options_set(recording: Recording, error: str) -> Iterator[OptionSet]:
    """The lines that set an option (``group["amsgrad"] = True``), when a step raised for a key that it did not find.

    A group is a plain dictionary: nothing shows when the program writes to it.
    """
    last = recording.steps[-1] if recording.steps else None
    if last is None or not last.error or not error.startswith("KeyError: "):
        return
    record = recording.optimizers[last.optimizer]
    options = {name for group in record.groups for name in group} - {"params"}
    for code, lasti, library in recording.stacks.chains[last.site]:
        for line, option in () if library else _assigned(code, lasti):
            if option in options:
                site = recording.stacks.of_code(code, line)
                yield OptionSet(last.at, site, last.optimizer, record.type, option)


def _assigned(code: CodeType, lasti: int) -> Iterator[tuple[int, str]]:
    """(line, key) of the assignments to a subscript in a function."""
    source = source_at(code.co_filename)
    line = compiled(code, lasti, library=False).lineno
    if source is not None:
        yield from source.index(EntriesSet).within(source.scope_at(line))
