"""The magic in a real kernel, driven like nbconvert and nbval drive it."""

from __future__ import annotations

import os

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from tests.shells import UNSEEN

pytestmark = pytest.mark.usefixtures("quick_kernels")

STARTING = 240
"""Seconds: on a busy machine the first kernel imports torch for longer than the minute that nbclient gives it."""
LOAD = "%load_ext autograd_inspector\nimport torch\nw = torch.ones(3, requires_grad=True)"


@pytest.fixture
def execute(tmp_path_factory):
    """Run cells in a fresh kernel; all of them, and the outputs by cell."""

    def run(*cells: str) -> list[list[nbformat.NotebookNode]]:
        notebook = new_notebook(cells=[new_code_cell(source) for source in (LOAD, *cells)])
        folder = tmp_path_factory.mktemp("kernel")
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=120,
            startup_timeout=STARTING,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute()
        return [cell.outputs for cell in notebook.cells[1:]]

    return run


def test_healthy_cells_pass(execute):
    """Value, stdout, await and the report, in this order; numbers and lines are the notebook's."""
    first, second, third = execute(
        "\n\ndef double(x):\n    return x * 2",
        "%%autograd_inspect --store seen\nimport asyncio\nprint('working')\n"
        "await asyncio.sleep(0, result=double(w).sum().item())",
        "[(p.cell, p.lineno) for p in seen.capture.site(seen.capture.ops[0].site)]",
    )
    assert first == []
    assert [output.output_type for output in second] == ["stream", "execute_result", "display_data", "display_data"]
    assert second[0].text == "working\n"
    assert second[1].data["text/plain"] == "6.0"
    assert third[0].data["text/plain"] == "[('In [2]', 4), ('In [3]', 4)]"


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("%%autograd_inspect\ny = w * 2\n1 / 0", "ZeroDivisionError"),
        ("%%autograd_inspect\nimport asyncio\nawait asyncio.sleep(0)\n1 / 0", "ZeroDivisionError"),
        (f"%%autograd_inspect --fail-on error\n{UNSEEN}", "AutogradFindingsError"),
        ("%%autograd_inspect --bogus\n1", "UsageError"),
        ("%autograd_inspect on\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_failing_cells_fail(execute, cell, name):
    """A cell that fails, fails the notebook, with one error output that is the cell's own."""
    with pytest.raises(CellExecutionError) as caught:
        execute(cell)
    assert caught.value.ename == name
    assert str(caught.value).count(f"{name}: ") <= 2  # nbclient itself repeats the last line


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no launcher of ranks forks here")
def test_a_fork_of_the_kernel_does_not_speak_for_it(execute):
    """A rank that a notebook's launcher has forked lists nothing in the panel: the sockets are the kernel's."""
    [[output]] = execute(
        "import os, warnings\nfrom autograd_inspector.kernel.shell import shell_in_kernel\n"
        "warnings.simplefilter('ignore')  # Since Python 3.12 a fork beside threads is warned of.\n"
        "if (child := os.fork()) == 0:\n    os._exit(shell_in_kernel() is not None)\n"
        "shell_in_kernel() is not None, os.waitpid(child, 0)[1]"
    )
    assert output.data["text/plain"] == "(True, 0)"


def test_one_error_output(execute):
    """The failing cell has exactly one error output, and the report above it: the answer comes first."""
    notebook = new_notebook(cells=[new_code_cell(LOAD), new_code_cell("%%autograd_inspect\ny = w * 2\n\n1 / 0")])
    NotebookClient(notebook, kernel_name="python3", timeout=120, startup_timeout=STARTING, allow_errors=True).execute()
    kinds = [output.output_type for output in notebook.cells[1].outputs]
    assert kinds == ["display_data", "display_data", "error"]
    assert "line 4" in "".join(notebook.cells[1].outputs[2].traceback)
