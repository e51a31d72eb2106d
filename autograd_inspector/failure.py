"""Findings as a failure: for cells and tests that must not pass with them."""

from __future__ import annotations

from autograd_inspector.model.finding import SEVERITIES, Finding, Severity
from autograd_inspector.report import Report


class AutogradFindingsError(Exception):
    """A program ran well, but has findings that the user declared a failure (``--fail-on``)."""

    def __init__(self, report: Report, findings: tuple[Finding, ...]) -> None:
        self.report = report
        self.findings = findings
        parts = [
            f"{f.rule} {f.name} ({f.locations[0].place})" if f.locations else f"{f.rule} {f.name}" for f in findings
        ]
        count = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
        super().__init__(f"autograd_inspector: {count}: {', '.join(parts)}")

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: the report above says where; our own frames would say nothing."""
        return [f"{type(self).__name__}: {self}"]


def failure_of(report: Report, fail_on: Severity | None) -> AutogradFindingsError | None:
    """The error that these findings deserve, if any are as severe as ``fail_on``."""
    if fail_on is None:
        return None
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    found = tuple(finding for finding in report.findings if finding.severity in worst)
    return AutogradFindingsError(report, found) if found else None
