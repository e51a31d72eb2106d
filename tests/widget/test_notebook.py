from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from autograd_inspector.kernel.display import INTERACTIVE
from autograd_inspector.kernel.widget import VIEW
from autograd_inspector.views.notebook.saved import CAPTURE

SETUP = "%load_ext autograd_inspector\nimport torch\nw = torch.ones(3, requires_grad=True)"
# What a test needs of a built front end: that it is there.
STUB = "from autograd_inspector.kernel import widget\nwidget.asset = lambda name: 'export default {}'"


def outputs(*cells):
    """What each cell of a notebook displays, run in a fresh kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [[output for output in cell.outputs if "data" in output] for cell in notebook.cells], notebook


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.slow
def test_the_magic_and_a_last_expression_show_the_widget():
    """Below what any viewer shows; the notebook keeps the widget's state; Python sees the selection."""
    shown, notebook = outputs(
        SETUP + "\n" + STUB,
        "%%autograd_inspect --store report\n(w * 2).sum().backward()",
        "report",
        "widget = report.widget()\nwidget.select('mul')\nwidget.selected",
        "widget",
    )
    for cell in (shown[1], shown[2]):
        static, live = (output["data"] for output in cell)
        assert set(static) == {"text/plain", "text/html"}
        assert "ops observed" in static["text/plain"]
        assert set(live) == {"text/plain", CAPTURE, VIEW}
        assert live["text/plain"] == INTERACTIVE
    assert {"text/plain", "text/html", CAPTURE, VIEW} <= set(shown[4][0]["data"])
    assert shown[1][1]["data"][VIEW]["model_id"] == shown[2][1]["data"][VIEW]["model_id"]
    assert shown[3][0]["data"]["text/plain"] != "[]"
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert shown[4][0]["data"][VIEW]["model_id"] in states
    widgets = [state["state"] for state in states.values() if '"wire":1' in state["state"].get("payload", "")]
    assert len(widgets) > 1
    assert not any(state["module"] for state in widgets)
    (code,) = {state["code"].removeprefix("IPY_MODEL_") for state in widgets}
    assert states[code]["state"]["module"] == "export default {}"


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.slow
def test_a_report_stands_where_the_line_of_progress_stood(tmp_path):
    """No output is left of it, whatever else is said; where no report is shown there is no line."""
    slow = "from autograd_inspector.api import progress\nprogress._PATIENCE = 0.0"
    _, notebook = outputs(
        f"{SETUP}\nimport autograd_inspector\n{STUB}\n{slow}",
        "%%autograd_inspect\n(w * 2).sum().backward()",
        f"%%autograd_inspect --model missing --json {tmp_path}/report.json\n(w * 2).sum().backward()",
        "%%autograd_inspect --quiet\n(w * 2).sum().backward()",
        "with autograd_inspector.inspect() as inspection:\n    (w * 2).sum().backward()",
    )
    alone, warned, quiet, block = (
        [set(output.get("data", {"said"})) for output in cell.outputs] for cell in notebook.cells[1:]
    )
    report = [{"text/plain", "text/html"}, {"text/plain", CAPTURE, VIEW}]
    assert alone == report
    assert warned == [{"said"}, *report, {"said"}]
    assert quiet == block == []
