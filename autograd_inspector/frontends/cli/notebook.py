"""Run a notebook in a fresh kernel with every cell inspected."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from autograd_inspector.api.report import Report
from autograd_inspector.frontends.cli.outcome import Asked, Outcome, ProgramError
from autograd_inspector.frontends.cli.screen import put

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class NotebookError(ProgramError):
    """A notebook that cannot be run here, or cannot be read."""


def run_notebook(path: Path, asked: Asked) -> Outcome:
    """Execute all cells in the notebook's folder, as Jupyter would; the first failing cell ends the run."""
    try:
        import ipykernel  # noqa: F401 - the kernel that will be started
        import nbclient
        import nbformat
    except ImportError as error:
        raise NotebookError(
            f"{error.name} is not installed; to run a notebook: pip install nbclient ipykernel"
        ) from None
    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise NotebookError(f"{path} is not a notebook: {str(error).splitlines()[0]}") from None
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--json", f"{folder}/report.json", *(["--values"] if asked.values else [])]
        options += ["--eager"] if asked.eager else []
        options += ["--ignore", ",".join(asked.ignore)] if asked.ignore else []
        # Not by %load_ext: IPython would say "already loaded" where the notebook has one.
        load = "__import__('autograd_inspector').load_ipython_extension(get_ipython())"
        begin = f"{load}\n%autograd_inspect on {shlex.join(options)}"
        client = nbclient.NotebookClient(
            notebook,
            timeout=None,
            startup_timeout=600,  # A busy machine takes minutes to import what a kernel needs.
            kernel_name="python3",  # the kernel of the environment that the inspector is installed in
            resources={"metadata": {"path": str(path.resolve().parent)}},
        )
        status = _execute(client, begin)
        # "report-3.json", and of one of several ranks "report-3-rank1.json".
        files = sorted((int(file.stem.split("-")[1]), file) for file in Path(folder).glob("report-*.json"))
        return Outcome(status, tuple((cell, Report.from_json(file.read_text("utf-8"))) for cell, file in files), path)


def _execute(client: Any, begin: str) -> int:
    """Run the cells one by one and print what they print, a failing cell's traceback once."""
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from nbformat.v4 import new_code_cell

    # A cell of ours comes first, outside the history, so that the notebook's own numbers stay.
    client.nb.cells.insert(0, new_code_cell(begin))  # type: ignore[no-untyped-call]
    with client.setup_kernel():
        for index, cell in enumerate(client.nb.cells):
            try:
                client.execute_cell(cell, index, store_history=index > 0)
            except CellExecutionError:
                _print(cell)
                return 1
            except DeadKernelError:
                put("autograd-inspect: the kernel died\n", sys.stderr)
                return 1
            if index > 0:
                _print(cell)
    return 0


def _print(cell: Any) -> None:
    """The outputs of a cell, as a terminal can show them."""
    for output in cell.get("outputs", ()):
        stream = sys.stderr if output.output_type == "error" or output.get("name") == "stderr" else sys.stdout
        if output.output_type == "error":
            text = "\n".join(output.traceback) + "\n"
        else:
            text = output.get("text") or output.get("data", {}).get("text/plain", "") + "\n"
        put(text if stream is not None and stream.isatty() else _COLOURS.sub("", text), stream)
