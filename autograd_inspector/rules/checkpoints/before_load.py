"""What the rules of the AG4xx family say of a checkpoint before it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.loading_lines import called
from autograd_inspector.model.resume import Resume, resume_of
from autograd_inspector.rules.checkpoints.devices import device_findings
from autograd_inspector.rules.checkpoints.dtypes import dtype_findings
from autograd_inspector.rules.checkpoints.groups import group_findings
from autograd_inspector.rules.checkpoints.kind import kind_findings
from autograd_inspector.rules.checkpoints.names import name_findings, no_optimizer
from autograd_inspector.rules.checkpoints.shapes import shape_findings
from autograd_inspector.rules.facts import Facts

Look = Callable[[Resume], Iterable[Finding]]

_LOOKS: dict[str, tuple[Look, ...]] = {
    "AG401": (device_findings,),
    "AG402": (dtype_findings,),
    "AG403": (kind_findings, shape_findings),
    "AG409": (name_findings, no_optimizer, group_findings),
}


def before_loading(facts: Facts, code: str) -> Iterator[Finding]:
    """The findings of one code; none where no checkpoint was given."""
    resume = resume_of(facts.capture)
    if resume is None:
        return
    found = [finding for look in _LOOKS[code] for finding in look(resume)]
    missing = {slot.name for slot in resume.fit.missing} if resume.fit is not None else set()
    for finding in _together(found, missing):
        yield replace(finding, fix=called(finding.fix, facts.capture.models))


def _together(found: list[Finding], missing: set[str]) -> list[Finding]:
    """Parameters that came to the model are missing from its state_dict and from the optimizer's: one cause."""
    same = [finding for finding in found if finding.severity == "error" and finding.subjects[0] in missing]
    if len(same) < _PAIR or not set(same[1].subjects) <= missing:
        return found
    cause, other = same[:_PAIR]
    both = replace(cause, message=f"{cause.message}; {other.message}", fix=f"{cause.fix}\n{other.fix}")
    return [both if finding is cause else finding for finding in found if finding is not other]


_PAIR = 2
