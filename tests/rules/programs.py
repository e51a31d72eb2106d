"""How the tests of the rules run a program and ask what was said about it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import torch

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.model.finding import Finding

Program = Callable[[], Any]


def inspected(program: Program, *, values: bool = False) -> Report:
    """The report on one run of the program, which may raise; grad mode is put back, whatever the program leaves."""
    torch.manual_seed(0)
    inspection = autograd_inspector.inspect(values=values)
    with warnings.catch_warnings(), torch.inference_mode(mode=False), torch.enable_grad():
        warnings.simplefilter("ignore")
        try:
            with inspection:
                program()
        except Exception:
            assert inspection.report.capture.error
    return inspection.report


def line_of(function: Callable[..., Any], text: str) -> int:
    """The one line of a function's source that contains the text."""
    lines, first = inspect.getsourcelines(function)
    matches = [first + at for at, line in enumerate(lines) if text in line]
    assert len(matches) == 1, f"{text!r} is on {len(matches)} lines of {function.__name__}"
    return matches[0]


def alarms(report: Report) -> list[Finding]:
    """Findings that say something is wrong."""
    return [finding for finding in report.findings if finding.severity != "info"]


def finding_text(finding: Finding) -> str:
    """All the text of a finding, with the source lines that it shows."""
    sources = [location.source for location in finding.locations]
    return "\n".join([finding.message, finding.fix, *finding.subjects, *finding.details, *sources])


def quoted(text: str) -> list[str]:
    """The code that a message or a fix has in backticks, in order."""
    return text.split("`")[1::2]


def summary(report: Report) -> str:
    """Every finding, for the message of a failed assertion."""
    lines = [f"error of the program: {report.capture.error}"]
    for finding in report.findings:
        lines += [f"{finding.rule} {finding.severity}: {finding.message}", f"    fix: {finding.fix}"]
        lines += [f"    {place.place} [{place.role}] {place.source.strip()}" for place in finding.locations]
    return "\n".join(lines)


def diagnosed(
    program: Program,
    rule: str,
    culprit: str,
    *names: str,
    severity: str,
    where: Callable[..., Any] | None = None,
    besides: tuple[str, ...] = (),
    values: bool = False,
) -> Finding:
    """The only alarm of a program: that rule and severity, and the culprit's line first among its locations.

    The line is the one of the program, or of the function ``where``, that contains ``culprit``; the finding has to
    say every one of ``names``. ``besides`` are rules that have something to say about the consequences.
    """
    report = inspected(program, values=values)
    reported = [f for f in alarms(report) if f.rule not in besides]
    assert [(f.rule, f.severity) for f in reported] == [(rule, severity)], f"not {rule} {severity}:\n{summary(report)}"
    line = line_of(where or program, culprit)
    (finding,) = reported
    assert finding.locations, summary(report)
    assert finding.locations[0].lineno == line, f"{rule} does not start at {line} ({culprit}):\n{summary(report)}"
    missing = [name for name in names if name.lower() not in finding_text(finding).lower()]
    assert not missing, f"{rule} does not say {missing}:\n{summary(report)}"
    return finding


def trained(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One training step of a program under test."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def silent(*programs: Program) -> None:
    """Healthy programs, which end well and of which nothing bad is said."""
    for program in programs:
        report = inspected(program)
        assert not report.capture.error, summary(report)
        assert not alarms(report), f"{program.__name__} is healthy:\n{summary(report)}"
        assert not report.notes, report.notes
