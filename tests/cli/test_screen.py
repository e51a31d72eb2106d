"""Width and colours of what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from autograd_inspector.frontends.cli.main import main
from tests.shells import UNSEEN
from tests.terminals import plain, terminal

PROGRAM = f"import torch\nw = torch.ones(3, requires_grad=True)\n{UNSEEN}\n"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


def in_terminal(columns, *arguments):
    """What a terminal so wide shows of the command's stderr; and its stdout, which is a pipe."""
    command = [sys.executable, "-m", "autograd_inspector", *map(str, arguments)]
    with terminal(columns) as there:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": there.stream}
        # Spelled out: readline, which pytest imports, puts COLUMNS where only children see it.
        with subprocess.Popen(command, env=dict(os.environ), **streams) as process:
            return there.text(), process.stdout.read()


def test_a_terminal(script):
    """The report is as wide as the terminal of stderr, in colours; stdout is a pipe and has the program's output."""
    said, out = in_terminal(60, "run", script(PROGRAM + "print('done')"))
    assert out == b"done\n"
    assert "\x1b[1;31merror\x1b[0m AG202" in said
    report = said[: said.index("autograd-inspect: exit=")]
    assert 40 < max(len(line) for line in plain(report).splitlines()) <= 60


@pytest.mark.parametrize(
    ("options", "colored"), [([], False), (["--color", "always"], True), (["--color", "never"], False)]
)
def test_a_file(script, capsys, environment, options, colored):
    """100 columns and no colours, unless they are asked for; NO_COLOR yields to that."""
    environment.setenv("COLUMNS", "40")
    environment.setenv("NO_COLOR", "1")
    main(["run", *options, str(script(PROGRAM))])
    said = capsys.readouterr().err
    assert ("\x1b[1;31m" in said) is colored
    assert any(len(line) > 60 for line in said.splitlines())


def test_force_color(script, capsys, environment):
    """A CI job that shows colours gets them."""
    environment.setenv("FORCE_COLOR", "1")
    main(["run", str(script(PROGRAM))])
    assert "\x1b[1;31m" in capsys.readouterr().err


def test_the_width_of_every_command(script, tmp_path, capsys):
    """run, show and merge: no line is longer than --width."""
    json = tmp_path / "r.json"
    main(["run", "--width", "50", "--json", str(json), str(script(PROGRAM))])
    report = capsys.readouterr().err.split("autograd-inspect: ")[0]
    main(["show", "--text", "--width", "50", str(json)])
    assert capsys.readouterr().out == report
    assert max(map(len, report.splitlines())) <= 50
    main(["merge", "--width", "50", str(json)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


@pytest.mark.parametrize("width", ["19", "x", "-3", "1e2"])
def test_a_width_that_is_none(width, capsys, script):
    """One line says what to write."""
    with pytest.raises(SystemExit):
        main(["run", "--width", width, str(script(PROGRAM))])
    assert "write a whole number, 20 or more" in capsys.readouterr().err.splitlines()[-1]
