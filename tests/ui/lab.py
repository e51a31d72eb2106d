"""A JupyterLab of its own, with settings, kernels and notebooks in a temporary folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
STARTED = 60
"""Seconds that a server may take to answer."""
RUN = 90_000
"""Milliseconds that a notebook's cells may take: torch is imported in the first."""

_READY = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


@dataclass(frozen=True)
class Lab:
    """A running server: where it is, and the folder whose notebooks it serves."""

    url: str
    folder: Path

    def notebook(self, name: str, *cells: str) -> str:
        """Write a notebook of code cells; returns its address."""
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        written = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=kernel)
        nbformat.write(written, self.folder / name)
        return f"{self.url}/lab/tree/{name}?reset"


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """Start a server that knows nothing of the user's settings; stop it at the end."""
    port = _free_port()
    notebooks = folder / "notebooks"
    notebooks.mkdir()
    places = {
        name: str(folder / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "IPYTHONDIR",
        )
    }
    news = Path(places["JUPYTERLAB_SETTINGS_DIR"]) / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", f"--ServerApp.root_dir={notebooks}",
    ]  # fmt: skip
    environment = os.environ | places | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        _answers(url, server, folder / "server.log")
        yield Lab(url, notebooks)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def opened(page: Page, address: str) -> None:
    """Open a notebook and run all of its cells."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN)
    page.wait_for_function(_READY, timeout=RUN)
    command(page, "notebook:run-all-cells")


def command(page: Page, name: str, arguments: dict[str, object] | None = None) -> None:
    """Run a command of JupyterLab and wait for it."""
    page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments or {}])


def in_dark(page: Page) -> None:
    """Switch JupyterLab to its dark theme."""
    command(page, "apputils:change-theme", {"theme": "JupyterLab Dark"})
    page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _answers(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + STARTED
    while time.monotonic() < ends and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/api/status", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
