"""`autograd-inspect run` on several ranks: each has files of its own, and `merge` makes one report of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_inspector import Report
from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS
from tests.forked import INSPECTOR, executable, python
from tests.shells import UNSEEN

MAKE = "import torch\nw = torch.ones(3, requires_grad=True)\n"
REPOSITORY = Path(__file__).parents[2]

TRAINING = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
net = DistributedDataParallel(nn.Linear(3, 2))
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(4, 3)).sum().backward()
optimizer.step()
if rank == 1:
    w = torch.ones(3, requires_grad=True)
    y = torch.ones(3) * 2
    z = w * y
    y.data.add_(1)
    z.sum().backward()
dist.destroy_process_group()
"""


@pytest.fixture
def as_rank(monkeypatch):
    """This process looks like that rank of those that a launcher started."""

    def become(rank, world_size=2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world_size))

    return become


def test_torchrun(tmp_path, script, capsys):
    """Each rank writes its own report, and rank 0 one of all; the launcher fails for a rank that has an error finding.

    Merged they say whose finding it is, also where the program has destroyed its process group at the end.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    command += ["-m", "autograd_inspector", "run", "--quiet", "--json", str(tmp_path / "out.json")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    environment["PYTHON_EXEC"] = str(executable(INSPECTOR))  # Of the ranks.
    done = subprocess.run(
        [*command, str(script(TRAINING))], capture_output=True, text=True, check=False, env=environment, timeout=200
    )
    assert done.returncode == 1, done.stderr
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out-rank0.json", "out-rank1.json", "out.json"]
    together = RanksReport.from_json((tmp_path / "out.json").read_text("utf-8"))
    assert ("AG202", (1,)) in [(found.finding.rule, found.ranks) for found in together.findings]
    assert "exit=findings (121): 1 finding: AG202" in done.stderr
    files = sorted(map(str, tmp_path.glob("out-rank*.json")))
    assert main(["merge", "--json", str(tmp_path / "all.json"), *files]) == FINDINGS
    merged = RanksReport.from_json((tmp_path / "all.json").read_text("utf-8"))
    assert (merged.placement.ranks, merged.placement.world_size) == ((0, 1), 2)
    assert [(found.finding.rule, found.ranks) for found in merged.findings if found.finding.severity == "error"] == [
        ("AG202", (1,))
    ]
    assert "rank 1" in capsys.readouterr().out


def test_every_kind_of_file_has_the_rank_in_its_name(tmp_path, script, as_rank, capsys):
    """--html, --json and --sarif; the report that is printed is headed by its rank."""
    as_rank(1)
    program = script(MAKE + UNSEEN)
    files = [text for kind in ("html", "json", "sarif") for text in (f"--{kind}", str(tmp_path / f"r.{kind}"))]
    files += ["--status-file", str(tmp_path / "r.status")]
    assert main(["run", *files, str(program)]) == FINDINGS
    assert sorted(p.name for p in tmp_path.glob("r*.*")) == [
        f"r-rank1.{kind}" for kind in ("html", "json", "sarif", "status")
    ]
    assert capsys.readouterr().err.startswith("--- rank 1\n")


@pytest.mark.parametrize(("rank", "world_size"), [("0", "1"), ("3", "2"), ("-1", "2"), ("x", "2"), ("0", "")])
def test_a_process_that_is_alone_writes_the_file_that_was_asked_for(tmp_path, script, as_rank, rank, world_size):
    """One rank of one, and variables that say nothing sensible, change no name."""
    as_rank(rank, world_size)
    assert main(["run", "--quiet", "--json", str(tmp_path / "r.json"), str(script(MAKE))]) == 0
    assert [path.name for path in tmp_path.glob("r*.json")] == ["r.json"]


def test_a_rank_that_only_the_program_knows(tmp_path, script):
    """Ranks that no launcher numbered (SLURM, MPI) have the number of the process group, also once it is destroyed."""
    body = f"""{MAKE}
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", store=FakeStore(), rank=5, world_size=8)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 2).sum().backward()
optimizer.step()
dist.destroy_process_group()
"""
    assert main(["run", "--quiet", "--json", str(tmp_path / "r.json"), str(script(body))]) == 0
    report = Report.from_json((tmp_path / "r-rank5.json").read_text("utf-8"))
    assert (report.capture.rank, report.capture.world_size) == (5, 8)


def test_a_notebook_on_a_rank(tmp_path, as_rank):
    """Its cells' reports are found, and each is written under cell and rank."""
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(text) for text in (MAKE, "(w * 2).sum().backward()")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "book.ipynb")
    as_rank(1)
    assert main(["run", "--quiet", "--json", str(tmp_path / "r.json"), str(tmp_path / "book.ipynb")]) == 0
    assert sorted(path.name for path in tmp_path.glob("r*.json")) == ["r-1-rank1.json", "r-2-rank1.json"]


def test_a_forked_child_reports_nothing(tmp_path, script, capfd):
    """A child that the program forked and that runs to its end leaves the report to the program."""
    body = f"""{MAKE}
import os
child = os.fork()
if child:
    os.waitpid(child, 0)
else:
    w = None
"""
    command = [*python(INSPECTOR), "-m", "autograd_inspector", "run", "--json", str(tmp_path / "r.json"), script(body)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("wrote ") == 1


def test_the_launchers_sigterm_waits_for_the_report(tmp_path, script):
    """A rank that is told to end while its report is made writes it, and ends as told then."""
    body = f"""{MAKE}
import os, signal
from autograd_inspector.api import inspect as inspection
made = inspection.report_of
def slow(*arguments, **options):
    os.kill(os.getpid(), signal.SIGTERM)   # what torchrun sends when another rank has failed
    return made(*arguments, **options)
inspection.report_of = slow
(w * 2).sum().backward()
"""
    command = [*python(INSPECTOR), "-m", "autograd_inspector", "run", "--quiet", "--json", str(tmp_path / "r.json")]
    environment = os.environ | {"RANK": "1", "WORLD_SIZE": "2"}
    done = subprocess.run([*command, str(script(body))], capture_output=True, check=False, env=environment)
    assert done.returncode == -signal.SIGTERM
    assert Report.from_json((tmp_path / "r-rank1.json").read_text("utf-8")).capture.ops
