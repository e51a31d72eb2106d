"""A real IPython shell for tests: what a user would see in a terminal, without a terminal."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from autograd_inspector import Report


@dataclass
class Ran:
    """What running one cell gave."""

    success: bool
    value: Any
    error: BaseException | None
    out: str
    err: str
    displayed: list[dict[str, Any]]


class Shell:
    """Runs cells as a front end does: with history, outputs captured."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.ip = shell

    def __getitem__(self, name: str) -> Any:
        return self.ip.user_ns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.ip.user_ns

    def run(self, cell: str) -> Ran:
        with capture_output() as captured:
            result = self.ip.run_cell(cell, store_history=True)
        displayed = [output.data for output in captured.outputs]
        error = result.error_before_exec or result.error_in_exec
        return Ran(result.success, result.result, error, captured.stdout, captured.stderr, displayed)

    def inspect(self, body: str, options: str = "") -> Report:
        """Run a cell under the header, without output, and return its report."""
        self.run(f"%%autograd_inspect --quiet --store _report {options}\n{body}")
        return self["_report"]


@pytest.fixture
def plain_shell(tmp_path, monkeypatch) -> Iterator[Shell]:
    """A shell without our extension."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 1000
    shell = InteractiveShell.instance(config=config)
    try:
        yield Shell(shell)
    finally:
        shell.run_line_magic("unload_ext", "autograd_inspector")
        atexit.unregister(shell.atexit_operations)
        shell.atexit_operations()
        InteractiveShell.clear_instance()


@pytest.fixture
def shell(plain_shell: Shell) -> Shell:
    """A shell with the extension loaded, and a few tensors to play with."""
    plain_shell.ip.run_line_magic("load_ext", "autograd_inspector")
    assert plain_shell.run("import torch\nw = torch.ones(3, requires_grad=True)").success
    return plain_shell


UNSEEN = "y = w.exp()\ny.data.add_(1)\ny.sum().backward()"
"""Runs well, but computes wrong gradients: an error finding without an exception."""
