"""Findings as a failure: for cells and tests that must not pass with them."""

from __future__ import annotations

from autograd_inspector.api.report import Report
from autograd_inspector.model.finding import SEVERITIES, Finding, Severity
from autograd_inspector.model.wording import counted


class AutogradFindingsError(Exception):
    """A program ended normally, but has findings that the user asked to fail on (``--fail-on``)."""

    def __init__(self, report: Report, findings: tuple[Finding, ...]) -> None:
        self.report = report
        self.findings = findings
        count = counted(len(findings), "finding")
        super().__init__(f"autograd_inspector: {count}: {named(findings)}")

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: the report above says where; our own frames would say nothing."""
        return [f"{type(self).__name__}: {self}"]


class NotJudgedError(AutogradFindingsError):
    """The inspector itself failed while the program ran well: no findings would say nothing."""

    def __init__(self, report: Report) -> None:
        super().__init__(report, report.findings)
        self.args = (f"not judged: {report.capture.stopped}",)


def named(findings: tuple[Finding, ...]) -> str:
    """``AG202 unseen-edit (train.py:7)``, one after another."""
    return ", ".join(
        f"{f.rule} {f.name} ({f.locations[0].place})" if f.locations else f"{f.rule} {f.name}" for f in findings
    )


def failure_of(report: Report, fail_on: Severity | None) -> AutogradFindingsError | None:
    """The error that these findings deserve, if any are as severe as ``fail_on``; or that there was no judging."""
    if fail_on is None:
        return None
    if report.capture.stopped:
        return NotJudgedError(report)
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    severe_findings = tuple(finding for finding in report.findings if finding.severity in worst)
    return AutogradFindingsError(report, severe_findings) if severe_findings else None
