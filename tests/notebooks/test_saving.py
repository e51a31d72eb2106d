"""scripts/save_tutorials.py: what it saves, and that a second run saves the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
SPOILED = "%%autograd_inspect\nhidden = torch.ones(2, requires_grad=True).exp()\nhidden += 1\nhidden.sum().backward()"


def save(path):
    command = [sys.executable, ROOT / "scripts" / "save_tutorials.py", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def written(path, *cells):
    notebook = new_notebook(cells=[new_markdown_cell("# A title"), *cells])
    for number, cell in enumerate(notebook.cells):
        cell.id = f"small-{number:02d}"
    nbformat.write(notebook, path)


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.notebooks
def test_a_second_run_leaves_the_file_as_it_is(tmp_path):
    """Report, error and streams are saved, without widgets, colours or paths of the machine; and again the same."""
    path = tmp_path / "small.ipynb"
    raising = new_code_cell(SPOILED, metadata={"tags": ["raises-exception"]})
    written(
        path,
        new_code_cell("import sys, torch\n%load_ext autograd_inspector"),
        raising,
        new_code_cell("print('one')\nprint('two', flush=True)\nprint(torch.__file__)\nprint('!', file=sys.stderr)"),
    )
    first = save(path)
    assert first.returncode == 0, first.stderr
    assert "saved" in first.stdout
    once = path.read_bytes()
    again = save(path)
    assert "unchanged" in again.stdout
    assert path.read_bytes() == once

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    report, live, error = notebook.cells[2].outputs
    assert error.traceback[-1].startswith("RuntimeError: one of the variables needed for gradient computation")
    assert "----> 4 hidden.sum().backward()" in error.traceback
    assert "    [... inside torch]" in error.traceback
    assert not any("File " in line for line in error.traceback)
    assert report.data["text/plain"].startswith("autograd inspector: 1 error")
    assert report.data["text/html"].startswith('<div class="agi-static">')
    assert isinstance(live.data["application/vnd.autograd-inspector.capture+json"], dict)
    printed, warned = notebook.cells[3].outputs
    assert printed.text == "one\ntwo\ntorch/__init__.py\n"
    assert warned.text == "!\n"
    text = once.decode()
    assert "widget-view" not in text
    assert "\\u001b" not in text
    assert str(ROOT) not in text


@pytest.mark.notebooks
def test_an_error_that_nobody_expected_saves_nothing(tmp_path):
    """A cell without the tag that raises is a failure, and the file stays what it was."""
    path = tmp_path / "broken.ipynb"
    written(path, new_code_cell("1 / 0"))
    before = path.read_bytes()
    done = save(path)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert path.read_bytes() == before
