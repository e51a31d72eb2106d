"""Width and colours of what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE
from tests.forked import INSPECTOR, python
from tests.shells import UNSEEN
from tests.terminals import plain, terminal

PROGRAM = f"import torch\nw = torch.ones(3, requires_grad=True)\n{UNSEEN}\n"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


def in_terminal(columns, *arguments, lines=25):
    """What a terminal of that size shows of the command's stderr; and its stdout, which is a pipe."""
    command = [*python(INSPECTOR), "-m", "autograd_inspector.frontends.cli.main", *map(str, arguments)]
    with terminal(columns, lines) as there:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": there.stream}
        # readline, which pytest imports, puts the size of its own terminal where only children see it.
        own = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        with subprocess.Popen(command, env=own, **streams) as process:
            return there.text(), process.stdout.read()


def test_a_terminal(script):
    """The report is as wide as the terminal of stderr, in colours; stdout is a pipe and has the program's output."""
    said, out = in_terminal(60, "run", script(PROGRAM + "print('done')"))
    assert out == b"done\n"
    assert "\x1b[1;31merror\x1b[0m AG202" in said
    report = said[: said.index("autograd-inspect: exit=")]
    assert 40 < max(len(line) for line in plain(report).splitlines()) <= 60


def test_the_end_of_a_long_report(script):
    """A terminal shows the end: where the finding has scrolled out of sight, its line, why and the fix stand there."""
    said = plain(in_terminal(80, "run", script(PROGRAM))[0])
    last = said[said.rindex("error AG202") :]
    assert said.index("error AG202") < said.index("graph: ") < said.rindex("error AG202")
    assert last.index("> ") < last.index("why: ") < last.index("fix: ") < last.index("autograd-inspect: exit=findings")
    assert len(last.splitlines()) < 12
    high = plain(in_terminal(80, "run", script(PROGRAM), lines=80)[0])
    assert high.count("error AG202") == 1


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


NAMED = "import torch\nnaïve = torch.ones(3, requires_grad=True)\nh = naïve.exp()\nh += 1\nh.sum().backward()\n"


def called(*arguments, **streams):
    """The command as a shell calls it: (status, stdout, stderr), both in bytes."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    command = [sys.executable, "-m", "autograd_inspector", *map(str, arguments)]
    done = subprocess.run(command, check=False, **streams)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The report of a program whose names are no ASCII, in a file."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "train.py").write_text(NAMED, encoding="utf-8")
    main(["run", "--quiet", "--json", str(folder / "r.json"), str(folder / "train.py")])
    return folder / "r.json"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_stream_that_lacks_characters(stored, environment, encoding):
    """The report is all there, in characters that the stream has."""
    environment.setenv("PYTHONIOENCODING", encoding)
    for command in (["show", "--text"], ["merge"]):
        _, out, error = called(*command, stored)
        assert error == b""
        assert "h += 1" in out.decode(encoding)
        assert "1 error" in out.decode(encoding)


def test_a_patch_for_a_stream_that_lacks_characters(script, environment):
    """What `git apply` reads is never spelled another way: it is UTF-8."""
    environment.setenv("PYTHONIOENCODING", "ascii")
    _, out, _ = called("run", "--quiet", "--diff", "--unsafe-fixes", script(NAMED))
    assert "-h += 1\n" in out.decode("utf-8")
    assert " naïve = torch.ones" in out.decode("utf-8")


@pytest.mark.parametrize("command", [["show", "--text"], ["merge"], ["rule", "AG201"]])
def test_a_full_disk(stored, command):
    """One line says what could not be written; no traceback."""
    files = [] if command[0] == "rule" else [stored]
    with Path("/dev/full").open("wb") as full:
        status, _, error = called(*command, *files, stdout=full)
    assert status == UNABLE
    assert error.decode().splitlines()[-1].startswith("autograd-inspect: error: cannot write to stdout: ")
    assert b"Traceback" not in error


@pytest.mark.parametrize("command", [["show", "--text"], ["merge"], ["rule", "AG201"]])
def test_no_stdout_at_all(stored, command):
    """Where the shell closed it (`>&-`), nothing is printed, and the status is that of any other time."""
    files = [] if command[0] == "rule" else [stored]
    status, _, error = called(*command, *files, preexec_fn=lambda: os.close(1), stdout=None)
    assert error == b""
    assert status == (FINDINGS if command == ["merge"] else 0)


def test_a_program_without_stdout(script):
    """A program that raises is told of as ever where the shell closed stdout."""
    status, _, error = called("run", script(NAMED), preexec_fn=lambda: os.close(1), stdout=None)
    assert status == FINDINGS
    assert b"error AG201" in error
    assert b"AttributeError" not in error
