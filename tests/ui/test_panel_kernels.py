"""The panel and its kernels: several at once, busy, restarted, killed, without the package; reloads and two pages."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
from playwright.sync_api import expect

from .lab import RUN, command
from .panel import KERNEL, Panel, panel_in, panel_of
from .programs import SETUP, SPOILED, TRAINED
from .shared import SIZE, shut_down

pytestmark = pytest.mark.ui
WAITS = "import time; time.sleep(600)"
QUICK = 3_000
"""Milliseconds in which a kernel that runs a cell must have answered."""


@pytest.fixture
def panel(browser, lab, request):
    """A notebook of the test's own, with two captures; the page must not complain."""
    name = re.sub(r"\W+", "-", request.node.name)
    with panel_of(browser, lab, name, SETUP, TRAINED, SPOILED, WAITS, run=False) as panel:
        for cell in range(3):
            panel.run(cell)
        panel.expect_entries(2)
        yield panel
        assert panel.complaints == []


def running(panel: Panel) -> None:
    """Let the last cell run, which does not end by itself."""
    panel.run(3)
    prompt = panel.cell(3).locator(".jp-InputPrompt")
    expect(prompt).to_have_text("[*]:")


def restarted(panel: Panel) -> None:
    panel.page.evaluate(f"() => {KERNEL}.restart()")


SLOW = """%%autograd_inspect
loss = net(x).sum()
import os, time
print("process", os.getpid(), flush=True)
time.sleep(600)
"""


def test_requests_while_a_cell_runs(panel):
    """Show, rename, pin and compare are answered at once: they run beside the cell."""
    running(panel)
    panel.entry("hidden").click(timeout=QUICK)
    panel.widget.wait_for(timeout=QUICK)
    panel.choose(panel.entry("hidden"), "Pin")
    expect(panel.entry("hidden").get_by_role("img", name="pinned")).to_be_visible(timeout=QUICK)
    panel.choose(panel.entry("hidden"), "Compare with")
    panel.entry("loss").click()
    expect(panel.root.get_by_role("heading", level=2)).to_have_text("In [2] → In [3]", timeout=QUICK)


def test_a_reload_while_a_cell_runs(panel):
    """The list is there again and answers, although the cell still runs; a widget is there when the cell ends."""
    running(panel)
    panel.page.reload()
    panel.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=RUN)
    panel.show()
    panel.expect_entries(2)
    panel.choose(panel.entry("loss"), "Pin")
    expect(panel.entry("loss").get_by_role("img", name="pinned")).to_be_visible()
    panel.entry("hidden").click()
    expect(panel.root).to_contain_text("when the running cell ends")
    panel.page.evaluate(f"() => {{ void {KERNEL}.interrupt() }}")
    panel.widget.wait_for(timeout=RUN)


def test_the_first_click_after_a_reload(panel):
    """Nothing is loaded twice: the widget is there within a second on a quiet machine."""
    panel.page.reload()
    panel.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=RUN)
    panel.show()
    panel.expect_entries(2)
    begun = time.monotonic()
    panel.entry("hidden").click()
    panel.widget.wait_for(timeout=RUN)
    assert time.monotonic() - begun < 3


def test_a_restart_leaves_nothing_behind(panel):
    """The list, the widget and the tab go; the next capture is listed alone."""
    panel.pick(panel.entry("hidden"))
    panel.root.get_by_role("button", name="Open in a tab").click()
    tab = panel.page.locator(".agi-tab")
    tab.wait_for()
    panel.page.locator(".lm-TabBar-tab", has_text="ipynb").first.click()
    restarted(panel)
    expect(panel.root).to_contain_text("The kernel was restarted, and its captures are gone.", timeout=RUN)
    panel.expect_entries(0)
    expect(panel.widget).to_have_count(0)
    expect(tab).to_have_count(0)
    panel.run(0)
    panel.run(2)
    panel.expect_entries(1)


def test_a_kernel_killed_in_mid_capture(panel):
    """As the system kills a process that takes too much memory: the kernel that follows begins with an empty list."""
    panel.page.evaluate(
        "code => window.jupyterapp.shell.currentWidget.content.widgets[3].model.sharedModel.setSource(code)", SLOW
    )
    panel.run(3)
    output = panel.cell(3).locator(".jp-OutputArea-output")
    output.filter(has_text="process").wait_for(timeout=RUN)
    os.kill(int(output.inner_text().split()[1]), signal.SIGKILL)
    expect(panel.root).to_contain_text("The kernel was restarted", timeout=RUN)
    panel.expect_entries(0)
    panel.page.get_by_role("dialog").get_by_role("button").last.click()
    panel.run(0)
    panel.run(2)
    panel.expect_entries(1)
    panel.pick(panel.entry("hidden"))


def test_a_closed_notebook(panel):
    """Closing the notebook empties the panel; opening it again lists what its kernel still has."""
    path = panel.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    command(panel.page, "docmanager:save")
    command(panel.page, "application:close")
    expect(panel.root).to_contain_text("Open a notebook or a console")
    panel.open(path)
    panel.expect_entries(2)


def test_two_notebooks(browser, lab):
    """The panel follows the one that is looked at, and shows in each what was shown there."""
    lab.notebook("second.ipynb", SETUP, SPOILED)
    with panel_of(browser, lab, "first", SETUP, TRAINED) as panel:
        panel.expect_entries(1)
        panel.pick(panel.entry("loss"))
        panel.open("second.ipynb")
        expect(panel.root).to_contain_text("second.ipynb")
        expect(panel.root).to_contain_text("not loaded in this kernel", timeout=RUN)
        expect(panel.widget).to_have_count(0)
        command(panel.page, "notebook:run-all-cells")
        expect(panel.entries).to_contain_text(["hidden"], timeout=RUN)
        panel.page.locator(".lm-TabBar-tab", has_text="first.ipynb").click()
        expect(panel.entries).to_contain_text(["loss"])
        panel.widget.wait_for()
        assert panel.complaints == []


def test_a_console_of_the_notebook(panel):
    """A console on the same kernel lists the same captures."""
    command(panel.page, "notebook:create-console")
    panel.page.locator(".jp-CodeConsole").wait_for(timeout=RUN)
    panel.page.locator(".jp-CodeConsole .jp-CodeConsole-input").click()
    panel.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.node.matches('.jp-ConsolePanel')")
    panel.expect_entries(2)
    panel.pick(panel.entry("hidden"))


def test_two_browser_tabs(browser, lab):
    """What is done in one page is seen in the other, which stays in step after a reload, too."""
    address = lab.notebook("pages.ipynb", SETUP, TRAINED)
    context = browser.new_context(viewport=SIZE)
    try:
        with panel_in(context, address) as first:
            first.expect_entries(1)
            command(first.page, "docmanager:save")
            with panel_in(context, lab.address("pages.ipynb", "other"), run=False) as second:
                second.expect_entries(1)
                first.choose(first.entry("loss"), "Rename")
                first.page.keyboard.type("both see this")
                first.page.keyboard.press("Enter")
                expect(second.entries).to_contain_text(["both see this"])
                second.entry("both see this").click()
                second.widget.wait_for(timeout=RUN)
                second.entry("both see this").get_by_role("button").first.press("Delete")
                first.expect_entries(0)
                expect(first.root).to_contain_text("No captures yet")
                assert first.complaints == second.complaints == []
    finally:
        context.close()
        shut_down(lab)


def test_a_kernel_without_the_package(browser, lab):
    """One line says how to install it; a moment after it is loaded the panel says what to run."""
    with panel_of(browser, lab, "without", "%load_ext autograd_inspector", run=False) as panel:
        expect(panel.root).to_contain_text("%pip install autograd_inspector")
        panel.run(0)
        expect(panel.root).to_contain_text("No captures yet", timeout=RUN)
        assert panel.complaints == []


def test_other_versions_are_refused(browser, lab):
    """A kernel that speaks a newer protocol is told by one line that says what to upgrade, and where."""
    newer = "from autograd_inspector.kernel.hub import messages\nmessages.PROTOCOL = 99\n%load_ext autograd_inspector"
    with panel_of(browser, lab, "newer", newer) as panel:
        expect(panel.root).to_contain_text("is newer than this JupyterLab extension", timeout=RUN)
        expect(panel.root).to_contain_text("pip install --upgrade autograd_inspector where JupyterLab is installed")
        assert panel.complaints == []


MANY = """
from autograd_inspector.kernel.hub.kernel import _begun
_begun().captures.limit(300)
for number in range(200):
    with autograd_inspector.inspect() as inspection:
        net(x).sum().backward()
    _begun().captures.add(inspection.report)
"""


def test_two_hundred_captures(browser, lab):
    """All are listed and can be walked by keys; the last is shown within a second."""
    with panel_of(browser, lab, "many", SETUP, MANY, run=False) as panel:
        panel.run(0)
        panel.run(1)
        panel.expect_entries(200)
        panel.root.locator(".agi-capture-main").first.focus()
        panel.page.keyboard.press("End")
        expect(panel.root.locator(".agi-capture-main").last).to_be_focused()
        begun = time.monotonic()
        panel.page.keyboard.press("Enter")
        panel.widget.wait_for()
        assert time.monotonic() - begun < 3  # One second on a quiet machine.
        assert panel.complaints == []


def test_fifty_thousand_nodes(browser, lab):
    """A very large capture is shown in the panel."""
    large = "%%autograd_inspect\nwith torch.enable_grad():\n    y = x\n    for _ in range(50_000): y = y * 1.0\n"
    grad = "x = torch.ones(2, requires_grad=True)"
    with panel_of(browser, lab, "large", SETUP, grad, large, run=False) as panel:
        for cell in range(3):
            panel.run(cell)
        panel.expect_entries(1)
        expect(panel.entries.first).to_contain_text("50,001 nodes")
        panel.entries.first.click()
        panel.widget.wait_for(timeout=RUN)
        assert panel.complaints == []
