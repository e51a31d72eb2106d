"""`--diff` and `--fix`: the edits of the findings, shown or made in the program's files."""

import os
import subprocess

from autograd_inspector.api.report import Report
from tests.forked import INSPECTOR, python
from tests.terminals import terminal

PROGRAM = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
print("é trains")
net(torch.randn(4, 3)).sum().backward()
"""
UNSAFE = """\
import torch
from torch import nn

enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
head(enc(torch.randn(4, 3)).detach()).pow(2).mean().backward()
opt.step()
"""


def run(folder, text, *options):
    """Run a program that is in a folder; (what it printed, what was said beside it, its text afterwards)."""
    file = folder / "train.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    command = [*python(INSPECTOR), "-m", "autograd_inspector.frontends.cli.main", "run", *options, "train.py"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder)
    return done.stdout.decode(), done.stderr.decode(), file.read_bytes()


def test_a_diff_changes_no_file_and_can_be_applied(tmp_path):
    """It names the file as the working folder does; `patch` makes the program right."""
    diff, _, text = run(tmp_path, PROGRAM, "--diff", "--quiet")
    assert text.decode() == PROGRAM
    assert diff.startswith("--- a/train.py\n+++ b/train.py\n")
    subprocess.run(["git", "apply"], input=diff, text=True, cwd=tmp_path, check=True)
    assert "nn.ReLU(inplace=False)" in (tmp_path / "train.py").read_text()


TALKS = f"""\
import atexit, os
{PROGRAM.replace("print(", "atexit.register(print, 'at exit'); os.system('echo of a child'); print(", 1)}"""


def test_what_the_program_prints_stands_beside_the_patch(tmp_path):
    """Also what it prints at its exit, and what a program prints that it runs: stdout can be piped to `git apply`."""
    diff, said, _ = run(tmp_path, TALKS, "--diff", "--quiet")
    assert [line for line in diff.splitlines() if line[:1] not in {"-", "+", "@", " "}] == []
    for line in ("é trains", "of a child", "at exit"):
        assert f"{line}\n" in said
    printed, said, _ = run(tmp_path, TALKS, "--quiet")
    assert {"é trains", "of a child", "at exit"} == {*printed.splitlines()}


def test_a_patch_that_nobody_reads_ends_the_command_quietly(tmp_path):
    """As `| head` does: no traceback, and the exit status of a pipe that was closed."""
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [
        *python(INSPECTOR),
        "-m",
        "autograd_inspector.frontends.cli.main",
        "run",
        "--diff",
        "--quiet",
        "train.py",
    ]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, cwd=tmp_path)
    os.close(writer)
    assert done.returncode == 141
    assert b"BrokenPipe" not in done.stderr


def test_a_terminal_shows_the_patch_in_colours(tmp_path):
    """Those of `git diff`; not where colours are not wanted."""
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [*python(INSPECTOR), "-m", "autograd_inspector.frontends.cli.main", "run", "--diff", "--quiet"]
    shown = []
    for options in ([], ["--color", "never"]):
        with terminal(100) as screen:
            subprocess.run(
                [*command, *options, "train.py"],
                env=os.environ | {"TERM": "xterm"},
                stdout=screen.stream,
                stderr=subprocess.DEVNULL,
                check=False,
                cwd=tmp_path,
            )
            shown.append(screen.text())
    assert "\x1b[32m+net = " in shown[0]
    assert "\x1b[31m-net = " in shown[0]
    assert "\x1b" not in shown[1]
    assert "+net = " in shown[1]


def test_a_safe_fix_is_made_in_the_file(tmp_path):
    """And said; the program is right then."""
    _, said, text = run(tmp_path, PROGRAM, "--fix")
    assert "autograd-inspect: fixed train.py\n" in said
    assert text.decode() == PROGRAM.replace("inplace=True", "inplace=False")
    assert "exit=ok" in run(tmp_path, text, "--fix")[1]


def test_line_ends_and_encoding_of_a_file_stay(tmp_path):
    """Whatever they are."""
    before = f"# coding: latin-1\n{PROGRAM}".replace("\n", "\r\n").encode("latin-1")
    assert run(tmp_path, before, "--fix")[2] == before.replace(b"inplace=True", b"inplace=False")


def test_an_unsafe_fix_is_made_only_where_that_is_asked_for(tmp_path):
    """Without it a line says how to ask."""
    _, said, text = run(tmp_path, UNSAFE, "--fix")
    assert text.decode() == UNSAFE
    assert "1 unsafe fix is left out" in said
    assert "--unsafe-fixes" in said
    _, said, text = run(tmp_path, UNSAFE, "--fix", "--unsafe-fixes")
    assert text.decode() == UNSAFE.replace(".detach()", "")
    assert "left out" not in said


def test_a_program_without_findings_stays_as_it_is(tmp_path):
    """Nothing is said of fixes."""
    healthy = PROGRAM.replace("inplace=True", "inplace=False")
    _, said, text = run(tmp_path, healthy, "--fix", "--unsafe-fixes")
    assert text.decode() == healthy
    assert "fix" not in said


MODEL = """\
import torch
from torch import nn


def features(enc, x):
    return enc(x).detach()
"""
TRAIN = """\
import torch
from torch import nn
from model import features

enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
head(features(enc, torch.randn(4, 3))).pow(2).mean().backward()
opt.step()
"""
CHOICE = """\
import torch

a = torch.ones(3, 3, requires_grad=True)
u, s, v = torch.linalg.svd(a)
u.sum().backward()
"""
NEEDED = """\
import torch
from torch import nn

enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
h = enc(torch.randn(4, 3)).detach()
print(h.numpy())
head(h).pow(2).mean().backward()
opt.step()
"""


def test_a_fix_is_tried_in_a_process_of_its_own(tmp_path):
    """In a module that the program imports, too; the report says that it cures, and no file is changed."""
    (tmp_path / "model.py").write_text(MODEL)
    _, said, _ = run(tmp_path, TRAIN, "--try-fixes", "--json", "report.json")
    assert "autograd-inspect: AG101: the fix cures it (tried in " in said
    assert "[tried: cured]" in said
    assert (tmp_path / "model.py").read_text() == MODEL
    report = Report.from_json((tmp_path / "report.json").read_bytes())
    assert [finding.verified for finding in report.findings] == ["cured"]


def test_a_fix_that_brings_another_fault_is_not_called_a_cure(tmp_path):
    """NumPy refuses what has its graph: without the detach the program raises."""
    _, said, after = run(tmp_path, NEEDED, "--try-fixes")
    assert after.decode() == NEEDED
    assert "[tried: not cured]" in said


def test_where_there_is_no_edit_the_diff_is_empty_and_it_is_said_why(tmp_path):
    """Also where the report itself is not printed."""
    printed, said, _ = run(tmp_path, CHOICE, "--diff", "--quiet", "--values")
    assert printed == ""
    why = "no edit: the fix is a choice: the program does not show which change is right"
    assert f"autograd-inspect: AG304 (train.py:4): {why}\n" in said


def test_a_file_that_was_changed_while_the_program_ran_is_left_as_it_is(tmp_path):
    """What the user has written meanwhile is not lost."""
    edited = f"with open('train.py', 'a') as file:\n    file.write('# of the user\\n')\n{PROGRAM}"
    _, said, text = run(tmp_path, edited, "--fix")
    assert "train.py has changed since it was run: not modified" in said
    assert text.decode() == f"{edited}# of the user\n"
