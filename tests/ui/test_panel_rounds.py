"""What many captures leave behind, shown and deleted one after the other."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest

from .lab import RUN
from .panel import Panel, panel_of
from .programs import SETUP
from .shared import READY

pytestmark = pytest.mark.ui

COUNTS = """
import gc, json
import psutil
from ipywidgets.widgets.widget import _instances
from autograd_inspector.api.report import Report
def counts():
    gc.collect()
    reports = sum(type(one) is Report for one in gc.get_objects())
    return {"widgets": len(_instances), "reports": reports, "memory": psutil.Process().memory_info().rss}
"""
CAPTURE = "%%autograd_inspect\nnet(x).sum().backward()"
TELL = "print(json.dumps(counts()))"
WARM, ROUNDS = 30, 120
"""What is loaded once, and caches that fill, count as warming up."""
MEGABYTE = 2**20


class Left(NamedTuple):
    """Widgets and reports of the kernel and its memory, elements and JavaScript memory of the page (bytes)."""

    widgets: int
    reports: int
    memory: int
    elements: int
    heap: int


def left(panel: Panel) -> Left:
    panel.run(3)
    output = panel.cell(3).locator(".jp-OutputArea-output")
    output.filter(has_text=re.compile(r"\{.*\}")).wait_for(timeout=RUN)
    kernel = json.loads(output.inner_text())
    session = panel.page.context.new_cdp_session(panel.page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    elements = panel.page.evaluate("() => document.querySelectorAll('*').length")
    return Left(kernel["widgets"], kernel["reports"], kernel["memory"], elements, int(heap))


def test_rounds_of_capture_and_delete_leave_nothing(browser, lab):
    """The kernel keeps no widget and no report, the page no element; the memory of both is flat."""
    with panel_of(browser, lab, "rounds", SETUP, COUNTS, CAPTURE, TELL, run=False) as panel:
        panel.run(0)
        panel.run(1)
        for number in range(1, ROUNDS + 1):
            entry = panel.capture(2)
            panel.cell(2).locator(READY).wait_for(timeout=RUN)
            panel.pick(entry)
            entry.get_by_role("button").first.press("Delete")
            panel.expect_entries(0)
            if number == WARM:
                few = left(panel)
        many = left(panel)
        print(few, many)
        assert (few.widgets, few.reports) == (many.widgets, many.reports)
        assert many.elements < few.elements + 200
        assert many.memory < few.memory + 20 * MEGABYTE
        assert many.heap < few.heap + 5 * MEGABYTE
        assert panel.complaints == []
