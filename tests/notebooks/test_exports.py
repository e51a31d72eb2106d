"""A notebook that is read without our front end: what nbconvert, GitHub and an untrusting JupyterLab make of it."""

from __future__ import annotations

import copy
import html
import re

import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, LatexExporter, MarkdownExporter, PythonExporter, RSTExporter
from nbformat.v4 import new_code_cell, new_notebook

from autograd_inspector.kernel.display import INTERACTIVE
from tests.widget.test_notebook import STUB

SETUP = f"%load_ext autograd_inspector\nimport torch\n{STUB}"
MODIFIED = """%%autograd_inspect
w = torch.ones(3, requires_grad=True)
h = w.exp()
out = h * h
h += 1.0
out.sum().backward()"""
DETACHED = """%%autograd_inspect
encoder, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()])
h = encoder(torch.ones(3, 4)).detach()
head(h).sum().backward()
optimizer.step()"""
ANSWERS = {
    "modified": ("AG201", "h += 1.0", "was saved for backward by", "modified here", "Fix:", "h = h + 1.0"),
    "detached": ("AG101", "h = encoder(torch.ones(3, 4)).detach()", "get no gradient", "detached here", "Fix:"),
}
STATE = "application/vnd.jupyter.widget-state+json"

pytestmark = [pytest.mark.notebooks, pytest.mark.usefixtures("quick_kernels")]


@pytest.fixture(scope="module")
def executed():
    """Run from the top as `jupyter nbconvert --execute` runs it, the widgets' state kept."""
    cells = [new_code_cell(SETUP), new_code_cell(MODIFIED), new_code_cell(DETACHED)]
    notebook = new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    assert notebook.metadata.widgets[STATE]["state"]
    return notebook


@pytest.fixture
def stateless(executed):
    """As JupyterLab saves it."""
    notebook = copy.deepcopy(executed)
    del notebook.metadata["widgets"]
    return notebook


def said(page: str) -> str:
    """The words of a page in their order, all that no click opens."""
    kept = re.sub(r"<(style|script|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    kept = re.sub(r"<details[^>]*>(<summary.*?</summary>)?.*?</details>", r"\1", kept, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", kept)).split())


def assert_answers(text: str) -> None:
    """The line, why, where in the code, the fix: of each finding, in this order."""
    for pieces in ANSWERS.values():
        at = text.index(pieces[0])
        for piece in pieces:
            at = text.index(piece, at) + len(piece)


def of_outputs(notebook):
    """The notebook without its sources, which hold the culprits' lines as well."""
    kept = copy.deepcopy(notebook)
    for cell in kept.cells:
        cell.source = ""
        cell.outputs = [output for output in cell.outputs if output.output_type != "error"]
    return kept


@pytest.mark.parametrize("saved", ["executed", "stateless"])
def test_html_has_the_answer_with_and_without_the_widgets_state(saved, request):
    """With it nbconvert puts the widget's place below, which stays empty without the network."""
    page, _ = HTMLExporter().from_notebook_node(of_outputs(request.getfixturevalue(saved)))
    assert_answers(said(page))
    assert (STATE in page) == (saved == "executed")


def test_markdown_has_the_answer(stateless):
    """As HTML inside of it, with no blank line that would end it."""
    text, _ = MarkdownExporter().from_notebook_node(of_outputs(stateless))
    assert_answers(said(text))
    for output in re.findall(r'<div class="agi-static">.*?</style>\s*</div>', text, flags=re.DOTALL):
        assert "\n\n" not in output


def test_a_viewer_that_keeps_structure_alone_tells_the_same(stateless):
    """Without style, class and picture, as on GitHub, the order of the words is the same, and code stays code."""
    page, _ = HTMLExporter().from_notebook_node(of_outputs(stateless))
    outputs = re.findall(r'<div class="agi-static">.*?</style>\s*</div>', page, flags=re.DOTALL)
    assert len(outputs) == len(ANSWERS)
    bare = re.sub(
        r"<style.*?</style>|<img[^>]*>|(?<=<)(\w+) [^>]*",
        lambda found: found[1] or "",
        "".join(outputs),
        flags=re.DOTALL,
    )
    assert set(re.findall(r"<(\w+)", bare)) <= {
        "div", "section", "p", "strong", "span", "pre", "code", "mark", "details", "summary", "ul", "li", "br",
        "del", "ins", "wbr",
    }  # fmt: skip
    assert_answers(said(bare))
    assert "<pre><strong>h += 1.0</strong></pre>" in bare


def test_restructured_text_has_the_answer(stateless):
    """As raw HTML, and docutils has nothing to say against the page: no line is too long, no block is empty."""
    docutils = pytest.importorskip("docutils.core")
    text, _ = RSTExporter().from_notebook_node(of_outputs(stateless))
    page = docutils.publish_parts(text, writer="html5", settings_overrides={"report_level": 3})["html_body"]
    assert_answers(said(page))
    assert "system-message" not in page


def test_a_script_runs_its_cells_as_the_notebook_did(stateless):
    """The magic is called with the cell's text, which a shell inspects."""
    text, _ = PythonExporter().from_notebook_node(stateless)
    calls = [line for line in text.split("\n") if "run_cell_magic('autograd_inspect'" in line]
    assert len(calls) == len(ANSWERS)
    compile(text, "script.py", "exec")


def test_latex_has_the_text(stateless):
    """Where HTML cannot be shown, the whole report as text is."""
    text, _ = LatexExporter().from_notebook_node(of_outputs(stateless))
    assert "AG201" in text
    assert "h += 1.0" in text
    assert "includegraphics" not in re.sub(r"(?s).*\\begin\{document\}", "", text)


def test_an_untrusted_notebook_has_it_as_data(executed):
    """JupyterLab shows no widget of a notebook that it does not trust: HTML and text are in an output of their own."""
    for cell in executed.cells[1:]:
        static, live = [output.data for output in cell.outputs if output.output_type == "display_data"]
        assert set(static) == {"text/html", "text/plain"}
        assert live["text/plain"] == INTERACTIVE
        assert not re.search(r"<script|\son\w+=|\sid=|\sstyle=", static["text/html"])


def test_another_run_leaves_the_same_outputs(executed):
    """nbval compares: but for the widget's own id nothing differs from run to run."""
    again = new_notebook(cells=[new_code_cell(cell.source) for cell in executed.cells])
    NotebookClient(again, timeout=120, kernel_name="python3", allow_errors=True).execute()
    for before, after in zip(executed.cells[1:], again.cells[1:], strict=True):
        pairs = zip(of_outputs_data(before), of_outputs_data(after), strict=True)
        assert all(one == other for one, other in pairs)


def of_outputs_data(cell):
    view = "application/vnd.jupyter.widget-view+json"
    return [
        {kind: data for kind, data in output.data.items() if kind != view}
        for output in cell.outputs
        if output.output_type == "display_data"
    ]
