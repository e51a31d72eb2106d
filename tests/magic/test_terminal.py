"""IPython in a terminal: what it prints of a report fits there."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.shells import UNSEEN
from tests.terminals import plain, terminal

CELLS = f"""
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance()
shell.run_line_magic("load_ext", "autograd_inspector")
shell.run_cell("import torch; w = torch.ones(3, requires_grad=True)")
shell.run_cell("%%autograd_inspect\\n" + {UNSEEN!r})
shell.run_cell("%autograd_inspect y")
"""


def shown(tmp_path, stdout, **variables):
    environment = {
        name: text for name, text in os.environ.items() if name not in {"COLUMNS", "FORCE_COLOR", "NO_COLOR"}
    }
    environment |= {"TERM": "xterm-256color", "IPYTHONDIR": str(tmp_path), **variables}
    command = [sys.executable, "-c", CELLS]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.STDOUT)


def in_terminal(tmp_path, columns, **variables):
    with terminal(columns) as there, shown(tmp_path, there.stream, **variables):
        return there.text()


def test_a_terminal(tmp_path):
    """As wide as it is, in colours, under a header and as the value of the line magic."""
    said = in_terminal(tmp_path, 60)
    assert "\x1b[1;31merror\x1b[0m AG202" in said
    assert 40 < max(map(len, plain(said).splitlines())) <= 60
    assert said.count("autograd inspector: ") == 2


def test_no_color(tmp_path):
    """NO_COLOR leaves the width."""
    said = in_terminal(tmp_path, 60, NO_COLOR="1")
    assert "\nerror AG202" in said
    assert max(map(len, plain(said).splitlines())) <= 60


def test_a_file(tmp_path):
    """`ipython script.ipy > log`: 100 columns, no colours."""
    with shown(tmp_path, subprocess.PIPE) as process:
        said = process.stdout.read().decode()
    assert "\nerror AG202" in said
    assert 60 < max(map(len, said.splitlines())) <= 100
