"""How bad a mark in the tree or the picture is: as bad as the worst finding that names its line."""

from __future__ import annotations

from typing import Literal

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import SEVERITIES
from autograd_inspector.model.location import Location

Tone = Literal["error", "warning", ""]
"""Of a mark; "" is worth seeing and no alarm."""

_Line = tuple[str, int, str | None]


class Alarms:
    """Asked for a site of the capture."""

    def __init__(self, report: ReportData) -> None:
        self._capture = report.capture
        self._worst: dict[_Line, Tone] = {}
        for finding in sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity)):
            if finding.severity != "info":
                for location in finding.locations:
                    self._worst.setdefault(_line(location), finding.severity)

    def at(self, site: int, unnamed: Tone = "warning") -> Tone:
        """``unnamed`` where no error and no warning names the line."""
        location = self._capture.place(site)
        return unnamed if location is None else self._worst.get(_line(location), unnamed)


def worst(*tones: Tone) -> Tone:
    """The worst of some tones, "" of none."""
    return "error" if "error" in tones else "warning" if "warning" in tones else ""


def _line(location: Location) -> _Line:
    return location.filename, location.lineno, location.cell
