"""The five stories: what happens without the inspector, and what its report says about them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

import autograd_inspector

from .catalogue import HEALTHY, STORIES
from .story import Healthy, Story, error_text

if TYPE_CHECKING:
    from autograd_inspector import Report
    from autograd_inspector.model.finding import Finding

pytestmark = [
    pytest.mark.stories,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]

FAULTY = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.slug)
RAISING = pytest.mark.parametrize("story", [s for s in STORIES if s.raises], ids=lambda story: story.slug)
SILENT = pytest.mark.parametrize("story", [s for s in STORIES if not s.raises], ids=lambda story: story.slug)
SOUND = pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.slug)


@functools.cache
def report_of_broken(story: Story) -> Report:
    """What is reported about the broken program, whether it raises or not."""
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            story.broken()
    except Exception as error:
        if story.raises is None or not error_text(error).startswith(story.raises):
            raise
    return inspection.report


def alarms(report: Report) -> list[Finding]:
    """The findings that say something is wrong."""
    return [finding for finding in report.findings if finding.severity in {"error", "warning"}]


def expected_findings(story: Story) -> list[Finding]:
    """The findings that name the story's fault; there must be one."""
    report = report_of_broken(story)
    found = [finding for finding in alarms(report) if finding.rule in story.rules]
    assert found, f"expected {' or '.join(story.rules)}, got {summary(report)}"
    return found


def everything_said(finding: Finding) -> str:
    """All the text of a finding, with the source lines that it shows."""
    sources = [location.source for location in finding.locations]
    return "\n".join([finding.message, finding.fix, *finding.subjects, *sources])


def summary(report: Report) -> list[str]:
    """The findings of a report, a line each."""
    return [f"{finding.severity} {finding.rule}: {finding.message}" for finding in report.findings]


@RAISING
def test_broken_program_raises_as_it_does_for_its_users(story):
    """Without the inspector, a broken program that raises does so with the declared words."""
    with pytest.raises(Exception) as caught:
        story.broken()
    assert error_text(caught.value).startswith(story.raises)


@SILENT
def test_silent_damage_is_real(story):
    """Without the inspector, a silent program always computes the same, and not what its repair computes."""
    damaged = story.broken()
    assert damaged == story.broken()
    assert damaged != story.repaired()


@FAULTY
def test_repaired_program_runs(story):
    """Without the inspector, every repaired program runs to its end."""
    story.repaired()


@SOUND
def test_healthy_program_runs(program: Healthy):
    """Without the inspector, every healthy program runs to its end."""
    program.run()


@RAISING
def test_exception_passes_through(story):
    """The exception that leaves the inspected block is the one that the program raised, word for word."""
    raised = None
    with pytest.raises(Exception) as caught, autograd_inspector.inspect():  # noqa: PT012
        try:
            story.broken()
        except Exception as error:
            raised = error
            raise
    assert caught.value is raised
    assert error_text(caught.value).startswith(story.raises)


@SILENT
def test_observing_changes_no_result(story):
    """A silent program computes the same under observation, broken and repaired."""
    for program in (story.broken, story.repaired):
        with autograd_inspector.inspect():
            observed = program()
        assert observed == program()


@FAULTY
def test_fault_is_found(story):
    """The report of a broken program has an error or a warning of the story's rule."""
    expected_findings(story)


@RAISING
def test_fault_that_raises_is_an_error(story):
    """What made the program raise is reported as an error, not as a warning."""
    assert "error" in {finding.severity for finding in expected_findings(story)}


@FAULTY
def test_culprit_line_is_shown(story):
    """A finding of the story's rule shows the line that is to blame."""
    findings = expected_findings(story)
    shown = [location.source for finding in findings for location in finding.locations]
    assert any(culprit in source for culprit in story.culprits for source in shown), shown


@FAULTY
def test_finding_names_what_is_concerned(story):
    """One finding of the story's rule mentions every parameter, value and op concerned, and has a fix."""
    findings = expected_findings(story)
    texts = [everything_said(finding) for finding in findings]
    assert any(all(name in text for name in story.names) for text in texts), texts
    assert all(finding.fix for finding in findings)


@FAULTY
def test_repaired_program_is_silent(story):
    """The report of a repaired program has neither errors nor warnings."""
    with autograd_inspector.inspect() as inspection:
        story.repaired()
    assert not alarms(inspection.report), summary(inspection.report)


@SOUND
def test_healthy_program_is_silent(program: Healthy):
    """The report of a healthy program has neither errors nor warnings."""
    with autograd_inspector.inspect() as inspection:
        program.run()
    assert not alarms(inspection.report), summary(inspection.report)
