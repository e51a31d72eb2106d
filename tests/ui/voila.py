"""A Voila of its own."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page

from .lab import ROOT, free_port, serving

KERNEL = "tests"


@contextmanager
def running_voila(folder: Path, python: str, *cells: str) -> Iterator[str]:
    """Start a server on one notebook of these cells, whose kernel has the Python of the tests; yields its address."""
    spec = folder / "data" / "kernels" / KERNEL
    spec.mkdir(parents=True)
    arguments = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": arguments, "display_name": "Tests", "language": "python"}))
    metadata = {"kernelspec": {"name": KERNEL, "display_name": "Tests", "language": "python"}}
    path = folder / "report.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=metadata), path)
    port = free_port()
    command = [python, "-m", "voila", str(path), "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1"]
    places = {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(ROOT),
    }
    log = folder / "voila.log"
    with serving(command, os.environ | places, log, f"http://127.0.0.1:{port}", "/voila/static/voila.js") as url:
        yield url


def without_network(page: Page, python: str) -> None:
    """Voila asks a CDN for RequireJS, of which it has a copy of its own, and for icons, which can be missing."""
    own = Path(python).parents[1] / "share/jupyter/voila/templates/base/static/require.min.js"
    page.route(re.compile("^https://"), lambda route: route.fulfill(body="", content_type="text/css"))
    page.route(re.compile(r"/require\.min\.js$"), lambda route: route.fulfill(path=own))
