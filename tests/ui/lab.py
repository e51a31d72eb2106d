"""A JupyterLab, or a Notebook 7, of its own, with settings, kernels and notebooks in a temporary folder."""

from __future__ import annotations

import json
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

from tests.forked import forking, kernels

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
    path: str

    def notebook(self, name: str, *cells: str) -> str:
        """Write a notebook of code cells; returns its address."""
        kernel = {"kernelspec": {"name": KERNEL, "display_name": "Python 3", "language": "python"}}
        written = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=kernel)
        nbformat.write(written, self.folder / name)
        return self.address(name)

    def address(self, name: str, workspace: str = "") -> str:
        """Where that notebook is shown, in a workspace of its own: no page restores what another test had open."""
        workspace = workspace or name.removesuffix(".ipynb")
        return f"{self.url}/{self.path.format(workspace=workspace)}/{name}?reset"


KERNEL = "tests"
"""Not python3: that name is the server's own Python, whatever else is installed."""
PATHS = {"jupyterlab": "lab/workspaces/{workspace}/tree", "notebook": "notebooks"}
APPS = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}


@contextmanager
def running_lab(
    folder: Path, module: str = "jupyterlab", python: str = sys.executable, without: tuple[str, ...] = ()
) -> Iterator[Lab]:
    """Start a server that knows nothing of the user's settings; stop it at the end.

    ``python`` has that module; the kernels run in the Python of the tests. ``without`` are extensions that the server
    does not load.
    """
    port = free_port()
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
    # Before any place where an older build may be installed.
    extensions = folder / "shared" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "autograd-inspector").symlink_to(ROOT / "autograd_inspector" / "labextension")
    news = Path(places["JUPYTERLAB_SETTINGS_DIR"]) / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    page = Path(places["JUPYTER_CONFIG_DIR"]) / "labconfig"
    page.mkdir(parents=True)
    (page / "page_config.json").write_text(json.dumps({"disabledExtensions": dict.fromkeys(without, True)}))
    command = [
        python, "-m", module, "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
        f"--{APPS[module]}.expose_app_in_browser=True", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", f"--ServerApp.root_dir={notebooks}",
    ]  # fmt: skip
    ours = {"PYTHONPATH": str(ROOT), "JUPYTER_PATH": str(folder / "shared"), "HF_HUB_OFFLINE": "1"}
    environment = os.environ | places | ours
    server = serving(command, environment, folder / "server.log", f"http://127.0.0.1:{port}", "/api/status")
    with forking(folder / "kernels", kernels.MODULES) as forked, server as url:
        kernels.write_spec(Path(places["JUPYTER_DATA_DIR"]) / "kernels" / KERNEL, forked)
        yield Lab(url, notebooks, PATHS[module])


@contextmanager
def serving(command: list[str], environment: dict[str, str], output: Path, url: str, path: str) -> Iterator[str]:
    """Start a server and wait until it answers at that path; stop it at the end."""
    log = output.open("w")
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _answers(url + path, server, output)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def idle(page: Page, address: str) -> None:
    """Open a notebook and wait for its kernel."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN)
    page.wait_for_function(_READY, timeout=RUN)


def opened(page: Page, address: str) -> None:
    """Open a notebook and run all of its cells."""
    idle(page, address)
    command(page, "notebook:run-all-cells")


def command(page: Page, name: str, arguments: dict[str, object] | None = None) -> None:
    """Run a command of JupyterLab and wait for it."""
    page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments or {}])


def in_theme(page: Page, *, dark: bool) -> None:
    """Switch JupyterLab's theme: it remembers the one that was chosen last, in whatever page."""
    command(page, "apputils:change-theme", {"theme": f"JupyterLab {'Dark' if dark else 'Light'}"})
    page.wait_for_selector(f"body[data-jp-theme-light='{'false' if dark else 'true'}']", state="attached")
    page.wait_for_selector("#jupyterlab-splash", state="detached")


def in_dark(page: Page) -> None:
    """Switch JupyterLab to its dark theme."""
    in_theme(page, dark=True)


def in_light(page: Page) -> None:
    """Switch JupyterLab to its light theme."""
    in_theme(page, dark=False)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _answers(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + STARTED
    while time.monotonic() < ends and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")
