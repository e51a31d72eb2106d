"""Where the program set an option of an optimizer that it had made, read off the source of who stepped it."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import OptimizerCreated, OptionSet, SchedulerMade, SchedulerStepped
from autograd_inspector.source.entries_set import EntriesSet


def options_set(recording: Recording, error: str) -> Iterator[OptionSet]:
    """The lines that set an option (``group["amsgrad"] = True``), when a step raised for a key that it did not find.

    A group is a plain dictionary: nothing shows when the program writes to it.
    """
    if not error:
        yield from _rates_set(recording)
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


def _rates_set(recording: Recording) -> Iterator[OptionSet]:
    """The lines that set a learning rate, where a step met another one than the optimizer, or its scheduler, had."""
    left: dict[int, list[OptimizerCreated | SchedulerMade | SchedulerStepped]] = {}
    for event in recording.events:
        if isinstance(event, (OptimizerCreated, SchedulerMade, SchedulerStepped)):
            left.setdefault(event.optimizer, []).append(event)
    told: set[tuple[int, CodeType, int]] = set()
    searched: set[tuple[int, int]] = set()
    for step in recording.steps if left else ():
        before = [event for event in left.get(step.optimizer, ()) if event.at <= step.start]
        if not before or before[-1].rates == step.rates or (step.optimizer, step.site) in searched:
            continue
        searched.add((step.optimizer, step.site))
        for code, lasti, library in recording.stacks.chains[step.site]:
            for line, option in () if library else _assigned(code, lasti):
                if option == "lr" and (step.optimizer, code, line) not in told:
                    told.add((step.optimizer, code, line))
                    site, kind = recording.stacks.of_code(code, line), recording.optimizers[step.optimizer].type
                    yield OptionSet(step.at, site, step.optimizer, kind, option)


def _assigned(code: CodeType, lasti: int) -> Iterator[tuple[int, str]]:
    """(line, key) of the assignments to a subscript in a function."""
    source = source_at(code.co_filename)
    line = compiled(code, lasti, library=False).lineno
    if source is not None:
        yield from source.index(EntriesSet).within(source.scope_at(line))
