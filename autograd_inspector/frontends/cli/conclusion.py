"""How the command says what became of a run: its exit status, its last line, the status file.

A program may end with any exit status, so none of ours is proof. The status file is: it is emptied before the program
begins, and written when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from autograd_inspector.api.destinations import saved
from autograd_inspector.api.errors import NotJudgedError, failure_of, named
from autograd_inspector.frontends.cli.outcome import (
    FINDINGS,
    INTERRUPTED,
    NOT_JUDGED,
    OWN,
    UNABLE,
    Outcome,
    ProgramError,
)
from autograd_inspector.model.finding import SEVERITIES, Finding, Severity
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.whole import write_whole

Exit = Literal["ok", "findings", "not-judged", "program", "interrupted", "unable"]
_NAMED = 5


class Conclusion(Struct, frozen=True):
    """``exit`` says what decided the exit status, ``why`` is for people; ``program``: its own status, None: not run."""

    exit: Exit
    status: int
    program: int | None = None
    findings: tuple[Finding, ...] = ()
    why: str = ""

    @property
    def line(self) -> str:
        """``exit=findings (121): 1 finding: AG202 unseen-edit (train.py:7)``."""
        return f"exit={self.exit} ({self.status})" + (f": {shown(self.why, 2000)}" if self.why else "")

    @property
    def failed(self) -> bool:
        """Whether it is to be said even where nothing else is: ours, or a status that looks like ours."""
        return self.exit in {"findings", "not-judged"} or (self.exit == "program" and self.status in OWN)


def concluded(outcome: Outcome, fail_on: Severity) -> Conclusion:
    """Findings come first, then the program's own end: its exit status is passed through."""
    findings = tuple(finding for _, report in outcome.reports for finding in report.findings)
    failures = [failure for _, report in outcome.reports if (failure := failure_of(report, fail_on)) is not None]
    severe = [found for failure in failures if not isinstance(failure, NotJudgedError) for found in failure.findings]
    stopped = next((str(failure) for failure in failures if isinstance(failure, NotJudgedError)), "")
    status = outcome.status

    def conclusion(how: Exit, exit_status: int, why: str = "") -> Conclusion:
        return Conclusion(how, exit_status, status, findings, why)

    if status == INTERRUPTED:
        return conclusion("interrupted", status)
    if severe:
        why = _listed(severe)
        return conclusion("findings", FINDINGS, f"{why}; the program ended with {status}" if status else why)
    if status:
        return conclusion("program", status, f"the program ended with {status}")
    if stopped:
        return conclusion("not-judged", NOT_JUDGED, stopped)
    return conclusion("ok", status, _listed([finding for finding in findings if finding.severity != "info"]))


def _listed(findings: list[Finding]) -> str:
    if not findings:
        return ""
    more = f" and {len(findings) - _NAMED} more" if len(findings) > _NAMED else ""
    return f"{counted(len(findings), 'finding')}: {named(tuple(findings[:_NAMED]))}{more}"


def unable(why: str) -> Conclusion:
    """Nothing was run."""
    return Conclusion("unable", UNABLE, why=why)


def write_status(path: str, conclusion: Conclusion) -> str:
    """Write the status file; "" or why it cannot be written."""
    file = saved(path, lambda: "".join(f"{line}\n" for line in _lines(conclusion)))
    return file.line if file.problem else ""


def empty_status(path: str) -> None:
    """Forget what an earlier run left there; raises ProgramError where nothing can be written."""
    file = Path(path)
    if file.exists() and not file.is_file():  # a pipe, which a shell reads
        return
    try:
        write_whole(file, "")
    except OSError as failure:
        raise ProgramError(f"cannot write {path}: {failure.strerror or failure}") from None


def _lines(conclusion: Conclusion) -> Iterator[str]:
    """As a shell reads them with `. FILE`, and as $GITHUB_OUTPUT takes them."""
    yield f"exit={conclusion.exit}"
    yield f"code={conclusion.status}"
    yield f"program={'' if conclusion.program is None else conclusion.program}"
    for severity in SEVERITIES:
        yield f"{severity}s={sum(finding.severity == severity for finding in conclusion.findings)}"
    yield f"rules={','.join(dict.fromkeys(finding.rule for finding in conclusion.findings))}"
