"""What a report says of a program, and what its edits make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import autograd_inspector

from .running import loaded, quietly, seeded


def told(path: str, values: bool, minor: bool = False) -> dict[str, Any]:
    """Run the program of a file under the inspector, to be called in a fork.

    Returns the findings in their order, and the text with their edits, "" without any; ``minor``: those of infos too.
    "safe" is the text with all edits that are called safe, those of infos among them.
    """
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
    findings = [
        {
            "rule": finding.rule,
            "severity": finding.severity,
            "message": finding.message,
            "lines": [place.lineno for place in finding.locations if place.filename == path],
        }
        for finding in report.findings
    ]
    every = tuple(finding.rule for finding in report.findings)
    patched, safe = report.patched(every if minor else None), report.patched(every, unsafe=False)
    return {"findings": findings, "patched": patched.get(path, ""), "safe": safe.get(path, "")}
