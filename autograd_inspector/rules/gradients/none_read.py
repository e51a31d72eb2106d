"""`.grad` was None, and that ended the program: why it was None."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules.catalogue import CATALOGUE
from autograd_inspector.rules.cuts.numbers import assigned
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.clearing import clearings
from autograd_inspector.rules.wording.places import unique
from autograd_inspector.rules.wording.receivers import read_name
from autograd_inspector.rules.wording.spelling import method_on

Reason = tuple[str, str, tuple[Location, ...]]
"""What happened, what to write instead, where."""


def failed_read(facts: Facts) -> GradRead | None:
    """The leaf's ``.grad`` that was read last, was None, and made the program fail."""
    reads = facts.capture.grad_reads[-1:] if "NoneType" in facts.capture.error else ()
    return next((read for read in reads if read.gradient < 0 and read.leaf and _raised_by(facts, read)), None)


def _raised_by(facts: Facts, read: GradRead) -> bool:
    """Whether the line that raised is the one that read, or uses the variable that it assigned."""
    raised, reading = facts.capture.place(facts.capture.error_site), facts.capture.place(read.site)
    if raised is None or reading is None or (raised.filename, raised.function) != (reading.filename, reading.function):
        return False
    name = assigned(reading)
    within = reading.lineno <= raised.lineno <= max(reading.lineno, reading.end_lineno)
    return within or (name != "" and re.search(rf"(?<![\w.]){re.escape(name)}\b", raised.source) is not None)


def too_early_or_late(facts: Facts) -> Iterator[Finding]:
    """Read before backward computed it, or after something cleared it: a matter of order."""
    read = failed_read(facts)
    reason = None if read is None or not _learns(facts, read) else _cleared(facts, read) or _early(facts, read)
    if read is not None and reason is not None:
        yield _finding(facts, "AG305", read, reason)


def never_there(facts: Facts) -> Iterator[Finding]:
    """Read where backward has been, and had none for it: frozen, or no part of the loss."""
    read = failed_read(facts)
    if read is None or (_learns(facts, read) and (_cleared(facts, read) or _early(facts, read))):
        return
    explained = {tensor for cut in facts.severed for tensor in cut.parameters}
    if read.tensor not in explained | facts.emptied:
        yield _finding(facts, "AG301", read, _aside(facts, read) if _learns(facts, read) else _frozen(facts, read))


def _learns(facts: Facts, read: GradRead) -> bool:
    return facts.requires_grad_at(read.tensor, read.at)


def _cleared(facts: Facts, read: GradRead) -> Reason | None:
    capture, tensor = facts.capture, read.tensor
    given = [r for r in capture.backwards if r.api == "backward" and not r.error and r.end <= read.at]
    given = [run for run in given if tensor in run.reached and tensor not in run.empty]
    if not given:
        return None
    since = given[-1].end
    calls = [(call.at, call.site) for call in clearings(facts, [tensor], since, read.at)]
    writes = [(w.at, w.site) for w in capture.grad_writes if since <= w.at <= read.at and w.tensor == tensor]
    last = max((*calls, *writes), default=None)
    if last is None:
        return None
    return (
        "it was cleared after backward() and before it was read",
        "Read it between backward() and zero_grad().",
        facts.chain(last[1], "cleared here"),
    )


def _early(facts: Facts, read: GradRead) -> Reason | None:
    if any(run.api == "backward" and run.end <= read.at for run in facts.capture.backwards):
        return None
    return "no backward() had run by then", "Call loss.backward() before .grad is read.", ()


def _frozen(facts: Facts, read: GradRead) -> Reason:
    changes = [c for c in facts.capture.leaf_changes if c.tensor == read.tensor and c.at <= read.at]
    return (
        "it does not require grad",
        "Leave what is frozen out (`if p.grad is not None`), or call requires_grad_() on it before the forward.",
        tuple(place for c in changes[-1:] for place in facts.chain(c.site, "frozen here")),
    )


def _aside(facts: Facts, read: GradRead) -> Reason:
    capture = facts.capture
    runs = [run for run in capture.backwards if run.api == "backward"]
    late = [c for c in capture.leaf_changes if c.tensor == read.tensor and c.requires_grad and c.at <= read.at]
    if late and any(read.tensor in op.inputs for op in capture.ops[: late[-1].at]):
        return (
            "it was used before it required grad",
            f"Call {method_on(read_name(facts, read), 'requires_grad_()')} before the forward that uses it.",
            facts.chain(late[-1].site, "requires grad from here on"),
        )
    used = next((op for op in capture.ops if op.last_seq > op.first_seq and read.tensor in op.inputs), None)
    return (
        "it takes no part in the loss" if used is None else "nothing that is computed from it reaches the loss",
        "Use it in the loss that backward() is called on, or skip what has no gradient (`if p.grad is not None`).",
        (
            *(facts.chain(used.site, "used here") if used is not None else ()),
            *facts.chain(runs[-1].site, "backward called here"),
        ),
    )


def _finding(facts: Facts, code: str, read: GradRead, reason: Reason) -> Finding:
    why, fix, places = reason
    name = read_name(facts, read)
    reading = facts.chain(read.site, ".grad read here")
    return Finding(
        code,
        CATALOGUE[code].name,
        "error",
        f"{name}.grad is None, because {why}",
        fix,
        unique([*places, *reading]),
        (name,),
    )
