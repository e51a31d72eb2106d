"""What the kernel keeps of captures that took too much memory, or whose output was cleared."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN, command
from .panel import panel_of
from .programs import SETUP, SPOILED, TRAINED
from .shared import READY

pytestmark = pytest.mark.ui
LITTLE = "from autograd_inspector.kernel.hub.kernel import _begun\n_begun().captures.keep_bytes = 0"
COUNT = """for name in [name for name, value in globals().items() if type(value).__name__ == "Report"]:
    del globals()[name]  # What the program keeps itself is its own affair.
import gc
from autograd_inspector import Report
gc.collect()
print("reports", sum(type(one) is Report for one in gc.get_objects()))"""


def test_a_released_capture_goes_with_its_output(browser, lab):
    """Its row says what became of it, as does the panel when it is asked for; its view stays until it is cleared."""
    with panel_of(browser, lab, "memory", SETUP, LITTLE, TRAINED, SPOILED, COUNT, run=False) as panel:
        for cell in range(4):
            panel.run(cell)
        panel.expect_entries(2)
        row = panel.entries.last
        expect(row).to_contain_text("released to free memory; run the cell again", timeout=RUN)
        row.locator(".agi-capture-main").click()
        expect(panel.notice).to_contain_text("this capture was released")
        expect(panel.cell(2).locator(READY)).to_be_visible()
        panel.run(4)
        expect(panel.cell(4)).to_contain_text("reports 2", timeout=RUN)
        panel.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2 }")
        command(panel.page, "notebook:clear-cell-output")
        panel.run(4)
        expect(panel.cell(4)).to_contain_text("reports 1", timeout=RUN)
        assert panel.complaints == []
