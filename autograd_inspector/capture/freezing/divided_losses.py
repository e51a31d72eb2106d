"""Numbers that losses were divided by: by a library that calls backward(), and by the program by the same number."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.operands import Operand
from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_NAME, OP_OUTPUTS, OP_SITE, OP_WRITES
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import LossDivided


def divided_losses(recording: Recording) -> Iterator[LossDivided]:
    """One event for each division of a root by a library, and for each by that number that the program wrote."""
    divided = dict(_divisions(recording))
    roots = {root for run in recording.backwards if run.api == "backward" for root in run.roots}
    of_roots = {index for index in divided if not roots.isdisjoint(_made(recording, index))}
    by_library = {index for index in of_roots if _library(recording, index)}
    numbers = {divided[index] for index in by_library}
    for index, number in divided.items() if numbers else ():
        site, made = recording.ops[index][OP_SITE], _made(recording, index)
        if index in by_library:
            yield LossDivided(index, site, made, number, by=recording.stacks.chains[site][0][0].co_qualname)
        elif number in numbers and not _library(recording, index):
            written = Operand(*recording.stacks.chains[site][0][:2]).written
            yield LossDivided(index, site, made, number, written=written)


def _divisions(recording: Recording) -> Iterator[tuple[int, float]]:
    """(op, the number that it divides by) where that is above 1, also by a product with its inverse."""
    given = {index: (("1", float(number)),) for index, number in recording.scales.items()}
    for index, numbers in (recording.number_arguments | given).items():
        op = recording.ops.get(index)
        number = dict(numbers).get("1", 0.0)
        if op is None or op[OP_SITE] < 0 or not recording.stacks.chains[op[OP_SITE]] or number <= 0:
            continue
        name = op[OP_NAME].removesuffix("_")
        by = number if name == "div" else 1 / number if name == "mul" else 0.0
        if by > 1 and len(op[OP_INPUTS]) == 1:
            yield index, by


def _library(recording: Recording, index: int) -> bool:
    return recording.stacks.chains[recording.ops[index][OP_SITE]][0][2]


def _made(recording: Recording, index: int) -> tuple[int, ...]:
    op = recording.ops[index]
    return (*op[OP_OUTPUTS], *(write.tensor for write in op[OP_WRITES]))
