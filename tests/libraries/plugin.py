"""A pytest plugin: opens a capture around each test where it is asked to, and writes down how each test ended."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

INSPECTED = os.environ.get("LIBRARIES_INSPECTED") == "1"
_ended: dict[str, dict[str, Any]] = {}
_stopped: dict[str, str] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """The test's own call, fixtures excluded."""
    if not INSPECTED:
        yield
        return
    import autograd_inspector

    inspection = autograd_inspector.inspect()
    with inspection:
        outcome = yield
    if inspection.report.capture.stopped:
        _stopped[item.nodeid] = inspection.report.capture.stopped
    inspection.report.to_text()
    outcome.get_result()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Outcome and, of a failure, its last line; numbers of memory and time are left out."""
    if report.when != "call" and report.outcome == "passed":
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message.splitlines()[0] if crash is not None and crash.message else ""
    _ended[report.nodeid] = {
        "outcome": report.outcome,
        "message": re.sub(r"0x[0-9a-f]+|\d+\.\d+(e-?\d+)?", "…", message)[:300],
    }


def pytest_sessionfinish() -> None:
    """Write all of it."""
    outcomes = {"ended": _ended, "stopped": _stopped}
    Path(os.environ["LIBRARIES_OUTCOMES"]).write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
