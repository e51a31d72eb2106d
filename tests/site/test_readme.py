"""README is what the code is: its commands run, its output is real, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.recording.walk_budget import MAX_DEPTH
from autograd_inspector.frontends.cli.main import main
from tests.benchmarks.peers import PEERS
from tests.shells import plain_shell

__all__ = ["plain_shell"]

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BLOCKS = [
    re.sub("^    ", "", block.lstrip("\n"), flags=re.MULTILINE)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)
]
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("autograd-inspect ")]
KINDS = {
    "import torch\n": "program",
    "error AG201": "printed",
    "pip install ": "install",
    "python -c ": "demo",
    "%load_ext ": "load",
    "%%autograd_inspect\n": "cell",
    "import autograd_inspector\n": "script",
    "autograd-inspect ": "terminal",
    "make ": "make",
}
"""How a block begins -> what it is; each kind has a test below."""
STATUS = {"run": 121}


def block(kind: str) -> str:
    [found] = [block for block in BLOCKS if kind_of(block) == kind]
    return found


def kind_of(text: str) -> str:
    return next((kind for start, kind in KINDS.items() if text.startswith(start)), "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the commands work on: README's program, and a checkpoint."""
    (tmp_path / "train.py").write_text(block("program"), "utf-8")
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "run.pt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_is_one_that_a_test_runs():
    """What README shows as typed or printed is of a kind that is tested below, each once."""
    assert sorted(map(kind_of, BLOCKS)) == sorted(KINDS.values())


def test_rule_table_is_generated_from_the_catalogue():
    """README's table is what scripts/rule_table.py makes of the rules."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "rule_table.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run: python scripts/rule_table.py"


def test_every_make_target_that_it_names_exists():
    """A command that README or CONTRIBUTING shows can be typed."""
    pages = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^ +|`)make (\w+)", pages, re.MULTILINE))
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "docs", "test", "wheel"} <= named
    assert named <= targets


def test_the_first_example_is_real(folder):
    """What README shows of its first program is what the command prints of it, word by word."""
    command = [sys.executable, "-m", "autograd_inspector", "run", "train.py"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert block("printed") in done.stderr


def test_the_wheel_has_that_name():
    """The file that `pip install` is given is called after the project's version, for whichever Python it is."""
    name = f"{PROJECT['name']}-{autograd_inspector.__version__}-*.whl"
    assert block("install") == f"pip install {name}\n"


def test_the_demonstration_runs():
    """The command as it stands prints a report."""
    command = [sys.executable, *shlex.split(block("demo"))[1:]]
    assert "AG201" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_cell_runs(plain_shell):
    """The two blocks for a notebook, one after the other, run and show a report."""
    assert plain_shell.run(block("load")).success
    plain_shell.run(
        "import torch\nmodel, criterion = torch.nn.Linear(4, 1), torch.nn.MSELoss()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nx, y = torch.randn(3, 4), torch.randn(3, 1)"
    )
    ran = plain_shell.run(block("cell"))
    assert ran.success
    assert "autograd inspector: no findings" in ran.displayed[0]["text/plain"]


def test_the_script_runs(capsys):
    """With a `train_step()` the block prints a report."""
    w = torch.ones(2, requires_grad=True)
    exec(block("script"), {"train_step": lambda: w.sum().backward()})
    assert capsys.readouterr().out.startswith("autograd inspector: ")


def test_the_commands_run(folder, capsys):
    """Each line for a terminal, in their order in one folder, ends with the status that the text below says."""
    assert len(COMMANDS) == len(block("terminal").splitlines())
    for line in COMMANDS:
        words = shlex.split(line)[1:]
        assert main(words) == STATUS.get(words[0], 0), line
    assert (folder / "report.html").stat().st_size > 1000
    assert "hidden = hidden.add(1)" in capsys.readouterr().out
    assert f"status {STATUS['run']} when there is an error finding" in README


def test_versions_are_those_of_the_project():
    """Python and PyTorch as README says them, tutorials by their number."""
    torch_range = next(one for one in PROJECT["dependencies"] if one.startswith("torch>"))
    python = PROJECT["requires-python"].removeprefix(">=")
    assert f"Python {python} or newer, PyTorch {torch_range[len('torch>=') :].partition(',')[0]} or newer" in README
    assert "Twelve [tutorials]" in README
    assert len(list((ROOT / "notebooks").glob("*.ipynb"))) == 12
    assert f"down to {MAX_DEPTH:,} nodes" in README


def test_names_are_public():
    """Functions that README calls are those of the package."""
    called = set(re.findall(r"`(inspect_\w+|preflight)\(", README))
    assert called == {name for name in autograd_inspector.__all__ if name.startswith(("inspect_", "preflight"))}


def test_links_lead_somewhere():
    """Each relative link and picture is a file of the repository."""
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_tools_beside_are_measured():
    """Each other tool of the comparison is one that `make bench` measures."""
    rows = README.partition("## Compared with other tools")[2].partition("## Limits")[0]
    tools = set(re.findall(r"^\| `?(\w+)`? \|", rows, re.MULTILINE)) - {"this"}
    measured = " ".join(peer.name for peer in PEERS)
    assert len(tools) == 6
    assert [tool for tool in tools if tool not in measured] == []


def test_it_is_short():
    """Two minutes, the table of rules aside."""
    assert len(README.split()) < 2400
