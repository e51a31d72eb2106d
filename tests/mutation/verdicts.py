"""What a report says of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import autograd_inspector

from .running import loaded, quietly, seeded


def said(path: str, *, values: bool) -> list[dict[str, Any]]:
    """Run the program of a file under the inspector; the findings in their order. To be called in a fork."""
    with quietly():
        module = loaded(Path(path))
        seeded()
        inspection = None
        try:
            with autograd_inspector.inspect(values=values) as inspection:
                module.run()
        except Exception:
            if inspection is None:
                raise
        report = inspection.report
    failed = [note for note in report.notes if "failed" in note]
    if failed or report.capture.stopped:
        raise RuntimeError(f"the inspector failed: {failed} {report.capture.stopped}")
    return [
        {
            "rule": finding.rule,
            "severity": finding.severity,
            "message": finding.message,
            "lines": [place.lineno for place in finding.locations if place.filename == path],
        }
        for finding in report.findings
    ]
