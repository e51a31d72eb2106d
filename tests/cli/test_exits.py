"""How a caller tells what became of a run: no exit status of a program is taken for one of ours."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE
from tests.forked import INSPECTOR, python
from tests.shells import UNSEEN

MAKE = "import os, signal, sys, torch\nw = torch.ones(3, requires_grad=True)\n"
HEALTHY = f"{MAKE}(w * 2).sum().backward()\n"


@pytest.fixture
def run(script, tmp_path):
    """Run a program in a process of its own; returns its exit status, its stderr and the status file."""

    def told(text, *options):
        status = tmp_path / "status"
        status.write_text("exit=ok\ncode=0\n")  # of an earlier run
        arguments = ["run", *options, "--status-file", str(status), str(script(text))]
        command = [*python(INSPECTOR), "-m", "autograd_inspector.frontends.cli.main", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, dict(line.split("=", 1) for line in status.read_text().splitlines())

    return told


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("sys.exit(2)", 2), ("sys.exit(1)", 1), ("sys.exit(121)", 121), ("sys.exit(125)", 125), ("1 / 0", 1)],
)
def test_a_program_without_findings(run, ending, code):
    """Its own status is passed through; line and file say that it is the program's, ours or not."""
    status, said, file = run(HEALTHY + ending)
    word = "program" if code else "ok"
    counts = dict.fromkeys(("errors", "warnings", "infos"), "0")
    assert status == code
    assert said.splitlines()[-1].startswith(f"autograd-inspect: exit={word} ({code})")
    assert file == {"exit": word, "code": str(code), "program": str(code), **counts, "rules": ""}


@pytest.mark.parametrize(("ending", "code"), [("", 0), ("\nsys.exit(2)", 2), ("\nsys.exit(121)", 121), ("\n1 / 0", 1)])
def test_a_program_with_findings(run, ending, code):
    """121 however the program ended, whose own status the line and the file keep."""
    status, said, file = run(MAKE + UNSEEN + ending)
    assert status == FINDINGS
    last = said.splitlines()[-1]
    assert last.startswith("autograd-inspect: exit=findings (121): 1 finding: AG202 unseen-edit (train.py:")
    assert last.endswith(f"; the program ended with {code}") is (code != 0)
    assert (file["exit"], file["program"], file["errors"], file["rules"]) == ("findings", str(code), "1", "AG202")


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os._exit(3)", 3),
        ("os._exit(121)", 121),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_a_process_that_ends_at_once(run, ending, code):
    """The status is that of the process, nothing is said, and the status file is empty: nothing was concluded."""
    assert run(MAKE + UNSEEN + "\n" + ending) == (code, "", {})


def test_an_interrupt(run):
    """130, also where there are findings: a shell's loop stops for it."""
    status, said, file = run(MAKE + UNSEEN + "\nraise KeyboardInterrupt")
    assert status == 130
    assert said.splitlines()[-1] == "autograd-inspect: exit=interrupted (130)"
    assert (file["exit"], file["errors"]) == ("interrupted", "1")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (HEALTHY, 0, ""),
        (HEALTHY + "sys.exit(2)", 2, ""),
        (HEALTHY + "sys.exit(125)", 125, "exit=program (125): the program ended with 125"),
        (MAKE + UNSEEN, 121, "exit=findings (121): 1 finding: AG202 unseen-edit (train.py:4)"),
    ],
)
def test_quiet_says_what_failed(run, text, code, said):
    """Findings are one line, and so is a program's own status that looks like one of ours."""
    assert run(text, "--quiet")[:2] == (code, f"autograd-inspect: {said}\n" if said else "")


@pytest.mark.parametrize(
    "arguments", [["nowhere.py"], ["."], ["--html", "nowhere/r.html", "train.py"], ["-m", "train.py"]]
)
def test_what_cannot_be_run(tmp_path, monkeypatch, capsys, arguments):
    """125, and the status file says that nothing was run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise AssertionError('it ran')\n")
    with pytest.raises(SystemExit) as left:
        main(["run", "--status-file", "status", *arguments])
    assert left.value.code == UNABLE
    assert (tmp_path / "status").read_text().startswith("exit=unable\ncode=125\nprogram=\n")
    assert "it ran" not in capsys.readouterr().err


def test_a_status_file_that_cannot_be_written(tmp_path, capsys, script):
    """Said before the program runs."""
    with pytest.raises(SystemExit) as left:
        main(["run", "--status-file", str(tmp_path / "nowhere" / "status"), str(script("print('it ran')"))])
    assert left.value.code == UNABLE
    printed = capsys.readouterr()
    assert "there is no folder" in printed.err.splitlines()[-1]
    assert not printed.out


def test_a_program_that_goes_elsewhere(tmp_path, monkeypatch, script):
    """The file is where the command was given."""
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--quiet", "--status-file", "status", str(script("import os\nos.chdir('/')"))]) == 0
    assert (tmp_path / "status").read_text().startswith("exit=ok\n")


@pytest.mark.parametrize("ending", ["sys.stderr.close()", "sys.stderr = open(os.devnull, 'w')"])
def test_a_program_that_closes_or_replaces_stderr(run, ending):
    """The exit status and the status file are as they would be without that."""
    status, _, file = run(MAKE + UNSEEN + "\n" + ending)
    assert (status, file["exit"]) == (FINDINGS, "findings")


def test_nobody_reads_the_report(script, tmp_path):
    """`2>&1 | head -1`: files are written all the same, and the exit status is that of the findings."""
    command = [sys.executable, "-m", "autograd_inspector", "run", "--json", str(tmp_path / "r.json")]
    with subprocess.Popen([*command, str(script(MAKE + UNSEEN))], stderr=subprocess.PIPE) as process:
        process.stderr.close()
        assert process.wait() == FINDINGS
    assert (tmp_path / "r.json").stat().st_size


def test_help_says_them(capsys):
    """`run --help` has every status and the words of the status file."""
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = capsys.readouterr().out
    for text in ("121  findings", "122  not-judged", "125  unable", "130  interrupted", "--status-file", "code=121"):
        assert text in said


def test_a_warning_that_fails_nothing(script, capsys):
    """The last line names it: it is what a terminal still shows of a long report."""
    text = (
        "import torch\nnet, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)\n"
        "head(net(torch.ones(1, 2)).detach()).sum().backward()\noptimizer.step()\n"
    )
    assert main(["run", str(script(text))]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "autograd-inspect: exit=ok (0): 1 finding: AG101 detached (train.py:4)"
    assert main(["run", "--quiet", str(script(text))]) == 0
    assert not capsys.readouterr().err
