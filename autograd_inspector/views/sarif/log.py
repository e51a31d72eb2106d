"""Reports as one SARIF 2.1.0 log, which code hosts show as annotations beside the lines.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.sarif.places import SRCROOT, Places
from autograd_inspector.views.sarif.texts import message_of, page_of, plain

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_FINGERPRINT = "autogradFinding/v1"


class Page(Protocol):
    """What is needed of a rule: its name and its documentation."""

    @property
    def name(self) -> str:
        """``saved-tensor-modified``."""

    @property
    def page(self) -> str:
        """The whole documentation, its summary first."""


def _unknown(_: str) -> str:
    return ""


class Analysis(Struct, frozen=True):
    """One run of a program: its reports, the statuses of the program and of the whole command, where it was run.

    ``text_of``: a file's name -> its text, "" where it is not known.
    """

    reports: tuple[ReportData, ...]
    program: Path
    root: Path
    status: int = 0
    exit_code: int = 0
    version: str = ""
    text_of: Callable[[str], str] = _unknown


def to_sarif(analysis: Analysis, rules: dict[str, Any]) -> str:
    """The log as JSON text; ``rules`` by code, each a :class:`Page`. The same findings make the same text."""
    places = Places(analysis.root, analysis.program, analysis.text_of)
    findings = [finding for report in analysis.reports for finding in report.findings]
    fired = sorted({finding.rule for finding in findings})
    run = {
        "tool": {
            "driver": {
                "name": "autograd_inspector",
                "semanticVersion": analysis.version,
                "rules": [_descriptor(code, rules[code], findings) for code in fired if code in rules],
            }
        },
        "originalUriBaseIds": {SRCROOT: {"uri": f"{analysis.root.resolve().as_uri().rstrip('/')}/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(analysis)],
        "results": list(_results(findings, places, [code for code in fired if code in rules])),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    # Escaped beyond ASCII: a lone surrogate in a name of the program cannot spoil the file.
    return json.dumps(log, indent=2) + "\n"


def _descriptor(code: str, rule: Page, findings: Iterable[Finding]) -> dict[str, Any]:
    """A rule; its default level is the severest that it was reported with, for severity is the finding's."""
    severities = {finding.severity for finding in findings if finding.rule == code}
    text, markdown = page_of(rule.page)
    summary, _, rest = text.partition("\n\n")
    why = rest.partition("Example")[0].partition("\n")[2]  # below the title of the section
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": f"{summary} {' '.join(why.split())}".strip()},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": LEVELS[min(severities, key=SEVERITIES.index)]},
        "properties": {"tags": ["pytorch", "autograd", rule.name]},
    }


def _results(findings: Iterable[Finding], places: Places, codes: list[str]) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for finding in findings:
        key = _identity(finding, places)
        seen[key] = seen.get(key, 0) + 1
        yield {
            "ruleId": finding.rule,
            **({"ruleIndex": codes.index(finding.rule)} if finding.rule in codes else {}),
            "level": LEVELS[finding.severity],
            "message": message_of(finding),
            **places.of(finding),
            **places.fixes(finding),
            "partialFingerprints": {_FINGERPRINT: f"{key}:{seen[key]}"},
            **({"properties": {"noEdit": finding.unedited.sentence}} if finding.unedited is not None else {}),
        }


def _identity(finding: Finding, places: Places) -> str:
    """What stays of a finding when lines above it come and go: the rule, the file, the function, the line's text."""
    parts = [finding.rule]
    for location in finding.locations[:1]:
        parts += [places.uri(location), location.function, location.source, location.expression]
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]


def _invocation(analysis: Analysis) -> dict[str, Any]:
    """How the program ended: where it failed midway, findings of what did not run are missing."""
    notifications = []
    for report in analysis.reports:
        if report.capture.error:
            error = shown(report.capture.error.split("\n")[0], 400)
            notifications.append({"level": "error", "message": {"text": plain(f"The program raised {error}")}})
        notifications += [{"level": "note", "message": {"text": plain(shown(note, 600))}} for note in report.notes]
    invocation: dict[str, Any] = {"executionSuccessful": analysis.status == 0, "exitCode": analysis.exit_code}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    return invocation
