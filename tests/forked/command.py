"""What to write in place of `sys.executable`."""

from __future__ import annotations

import atexit
import functools
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCH = ("torch",)
PACKAGE = ROOT / "autograd_inspector"
FLOORS = ("model", "source", "capture", "analysis", "advice", "rules", "views", "api", "frontends/cli")
_PARTS = (
    *TORCH,
    "torch._dynamo",  # The first optimizer imports it.
    *(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for floor in FLOORS
        for path in sorted((PACKAGE / floor).rglob("*.py"))
        if path.stem != "main"  # It is run, by name.
    ),
)


def inspector(*modules: str) -> tuple[str, ...]:
    """Return what a process imports that trains in the inspector with what `modules` have.

    For tests of what it says, not of when it is imported. They come before the inspector's first use, in which the
    functions of torch's that are there are compiled anew: no fork has to.
    """
    return (*_PARTS, *modules, "inspected_once")


INSPECTOR = inspector()
"""Without any."""


@functools.cache
def python(modules: tuple[str, ...] = TORCH) -> list[str]:
    """Return the beginning of a command whose rest is what Python takes: `-c CODE`, `-m MODULE` or `SCRIPT`, arguments.

    The process has imported `modules`, and otherwise nothing of the tests or the inspector. Options of the
    interpreter, and how exactly it prints an exception that nobody catches, need a real one.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(forking(Path(folder) / "forks", modules))


@functools.cache
def executable(modules: tuple[str, ...] = TORCH) -> Path:
    """Return a file to run in place of `sys.executable`, for launchers that take one file; it does not mind `-u`."""
    command = python(modules)
    path = Path(command[-1]).with_name("python")
    path.write_text(f'#!/bin/sh\n[ "$1" = -u ] && shift\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return path


@contextmanager
def forking(address: Path, modules: tuple[str, ...] = TORCH) -> Iterator[list[str]]:
    """Keep a process that forks, reached at the socket `address`; the value is as in `python`."""
    server = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py"), address, *modules])
    try:
        yield [sys.executable, "-S", "-E", str(Path(__file__).with_name("launcher.py")), str(address)]
    finally:
        server.terminate()
        server.wait(20)
