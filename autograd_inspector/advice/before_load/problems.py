"""What the rules AG401 to AG409 say of a checkpoint before it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.checkpoints.loading_lines import called
from autograd_inspector.analysis.checkpoints.resume import Resume, resume_of
from autograd_inspector.model.finding import Problem

Look = Callable[[Resume], Iterable[Problem]]


def before_loading(analysis: Analysis, *looks: Look) -> Iterator[Problem]:
    """What these looks find; nothing where no checkpoint was given."""
    resume = resume_of(analysis.capture)
    if resume is None:
        return
    problems = [problem for look in looks for problem in look(resume)]
    missing = {slot.name for slot in resume.fit.missing} if resume.fit is not None else set()
    for problem in _together(problems, missing):
        yield replace(problem, fix=called(problem.fix, analysis.capture.models))


def _together(problems: list[Problem], missing: set[str]) -> list[Problem]:
    """Parameters that came to the model are missing from its state_dict and from the optimizer's: one cause."""
    same = [problem for problem in problems if problem.severity == "error" and problem.subjects[0] in missing]
    if len(same) < _PAIR or not set(same[1].subjects) <= missing:
        return problems
    cause, other = same[:_PAIR]
    both = replace(cause, message=f"{cause.message}; {other.message}", fix=f"{cause.fix}\n{other.fix}")
    return [both if problem is cause else problem for problem in problems if problem is not other]


_PAIR = 2
