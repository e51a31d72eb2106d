"""Kernels that have torch from the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tests.forked.command import INSPECTOR

MODULES: Final = (*INSPECTOR, "ipykernel.kernelapp")
"""What every kernel imports, and what it does in these tests."""


def write_spec(folder: Path, python: list[str], executable: Path | None = None) -> None:
    """Write the kernelspec of a kernel that a command like `forked.python()` starts; `executable`: its `sys`'s."""
    folder.mkdir(parents=True)
    # A kernel without a parent tells the terminal how to end it. Which parent is not asked: the launcher ends it.
    argv = [*python, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--IPKernelApp.parent_handle=2"]
    spec: dict[str, object] = {"argv": argv, "display_name": "Python 3", "language": "python"}
    if executable is not None:
        spec["env"] = {"FORKED_EXECUTABLE": str(executable)}
    (folder / "kernel.json").write_text(json.dumps(spec))
