"""A plugin of pytest's: what every report said in each test, as one line of JSON a test.

``python -m pytest -p tests.metamorphic.recording``; the file to write to is in ``METAMORPHIC_OUT``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import autograd_inspector.api.report
from autograd_inspector.model.finding import Finding

OUT = "METAMORPHIC_OUT"
_said: list[list[tuple[str, str, str, int]]] = []
_original = autograd_inspector.api.report.findings_of


def _findings_of(*arguments: Any) -> Any:
    findings, notes = _original(*arguments)
    _said.append([_verdict(finding) for finding in findings])
    return findings, notes


autograd_inspector.api.report.findings_of = _findings_of


def _verdict(finding: Finding) -> tuple[str, str, str, int]:
    place = finding.locations[0] if finding.locations else None
    return (
        finding.rule,
        finding.severity,
        "" if place is None else Path(place.filename).name,
        place.lineno if place else 0,
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """One line for each test, however it ends."""
    _said.clear()
    yield
    with Path(os.environ[OUT]).open("a", encoding="utf-8") as out:
        out.write(json.dumps({"test": item.nodeid.rpartition("/")[2], "said": _said}) + "\n")
