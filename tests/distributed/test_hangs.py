"""A rank that stands still, dies or raises: what the files tell that are left, merged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch.distributed as dist

from autograd_inspector import inspect
from autograd_inspector.frontends.cli.merge import merge_files
from tests.forked import python

from .ranks import IMPORTED

pytestmark = [
    pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed"),
    pytest.mark.slow,
]

REPOSITORY = Path(__file__).parents[2]
LIMIT = 90
PROGRAM = """
import os, signal, time
import torch
import torch.distributed as dist
rank, folder = int(os.environ["RANK"]), os.environ["MEETING"]
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
total = torch.ones(2)
dist.all_reduce(total)  # together
if rank == 1:
    BODY
dist.all_reduce(total)  # waits
"""
RANKS = """
import os, sys
from autograd_inspector.frontends.cli.main import main
os.environ["WORLD_SIZE"], os.environ["MEETING"] = "2", sys.argv[1]
children = []
for rank in range(2):
    child = os.fork()
    if child == 0:
        os.environ["RANK"] = str(rank)
        status = main(["run", "--quiet", "--json", f"{sys.argv[1]}/r.json", "--timeout", "1", sys.argv[2]])
        sys.stderr.flush()
        os._exit(status)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def left_by(folder: Path, body: str, *, files: int) -> tuple[list, str, Path]:
    """(the merged findings across ranks, what was printed, the program) once so many ranks have written something."""
    program = folder / "train.py"
    program.write_text(PROGRAM.replace("    BODY", textwrap.indent(body, "    ")))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    with (folder / "said").open("w+") as said:
        ranks = subprocess.Popen(
            [*python(IMPORTED), "-c", RANKS, str(folder), str(program)],
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
        until = time.monotonic() + LIMIT
        while len(list(folder.glob("r-rank*.json"))) < files and time.monotonic() < until and ranks.poll() is None:
            time.sleep(0.1)
        with suppress(ProcessLookupError):
            os.killpg(ranks.pid, signal.SIGKILL)  # The ranks of this program: it leads a session of its own.
        ranks.wait()
    merged = merge_files(sorted(folder.glob("r-rank*.json"))).report
    text = (folder / "said").read_text()
    assert merged is not None, text
    return list(merged.findings), json.dumps([merged.to_text(), text]), program


def line_of(program: Path, mark: str) -> int:
    return next(n for n, line in enumerate(program.read_text().splitlines(), 1) if line.endswith(mark))


def test_a_rank_that_stays_away_is_named_with_its_line(tmp_path):
    """It computes elsewhere: the one that waits says so, and the merged report tells where both are, and parted."""
    findings, said, program = left_by(tmp_path, "time.sleep(1000)  # away", files=2)
    (found,) = [each.finding for each in findings if each.finding.rule == "AG603"]
    lines = [place.lineno for place in found.locations]
    assert lines[0] == line_of(program, "# waits")
    assert {line_of(program, "# away"), line_of(program, "# together")} <= set(lines)
    assert "rank 0 has waited" in said
    assert "all_reduce at train.py" in said


def test_a_rank_that_calls_more_often_is_named_with_its_line(tmp_path):
    """The other has ended by then, and its connection is closed."""
    body = "dist.all_reduce(total)\ndist.all_reduce(total)  # one more\n"
    findings, _, program = left_by(tmp_path, body, files=2)
    (found,) = [each.finding for each in findings if each.finding.rule == "AG603"]
    lines = [place.lineno for place in found.locations]
    assert {line_of(program, "# one more"), line_of(program, "# together")} & set(lines)


def test_a_rank_that_is_killed_leaves_the_report_of_the_other(tmp_path):
    """SIGKILL: it writes nothing and is told as missing."""
    findings, said, _ = left_by(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", files=1)
    assert "no report from rank 1" in said
    assert not [each for each in findings if each.finding.rule != "AG603"]


def test_a_rank_that_raises_is_told_with_what_it_raised(tmp_path):
    """Both end: one by its own error, one by the connection that was closed."""
    findings, said, program = left_by(tmp_path, "raise ValueError('bad sample')", files=2)
    assert "bad sample" in said
    (found,) = [each.finding for each in findings if each.finding.rule == "AG603"]
    assert line_of(program, "# waits") in [place.lineno for place in found.locations]


IN_BLOCK = """
import os, sys, time
import torch
import torch.distributed as dist
from autograd_inspector import inspect
children = []
rank = 0 if os.fork() else 1
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/meeting", rank=rank, world_size=2)
with inspect(timeout=1.0) as inspection:
    if rank == 1:
        time.sleep(3)
    dist.all_reduce(torch.ones(2))  # waits
with inspection:
    dist.barrier()
dist.destroy_process_group()
sys.stderr.write(f"rank {rank} has {len(inspection.report.findings)} findings\\n")
os.wait() if rank == 0 else None
sys.stderr.flush()
os._exit(0)
"""


GATHERED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
spread = distribute_tensor(torch.ones(4), init_device_mesh("cpu", (2,)), [Shard(0)])
spread.full_tensor()  # Torch imports what it needs for that.
with inspect("""


@pytest.mark.parametrize("api", ["all_reduce", "full_tensor"])
def test_a_block_with_a_timeout_says_what_it_waits_for(tmp_path, api):
    """The rank that waits says so, once, while it waits; the one that sleeps is not in a call that others share.

    Also where the program's line calls none itself: ``full_tensor()`` of a DTensor does.
    """
    text = IN_BLOCK
    if api == "full_tensor":
        text = text.replace("\nwith inspect(", GATHERED).replace(
            "dist.all_reduce(torch.ones(2))", "spread.full_tensor()"
        )
    program = tmp_path / "block.py"
    program.write_text(text)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    command = [*python(IMPORTED), str(program), str(tmp_path)]
    said = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=LIMIT).stderr
    line = 1 + next(n for n, each in enumerate(text.splitlines()) if each.endswith("# waits"))
    waits = [each for each in said.splitlines() if "has waited" in each]
    assert len(waits) == 1
    assert waits[0].startswith("autograd-inspect: rank 0 has waited ")
    assert waits[0].endswith(f"in {api} at block.py:{line}")
    assert "rank 0 has 0 findings" in said
    assert "rank 1 has 0 findings" in said


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout):
    """Others are refused at once."""
    with pytest.raises(ValueError, match="number of seconds"):
        inspect(timeout=timeout)
