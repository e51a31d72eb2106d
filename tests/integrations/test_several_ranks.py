"""Trainings on two ranks, started as their users start them: torchrun, and Lightning's own launcher."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch.distributed as dist

from autograd_inspector import RanksReport, Report
from tests.forked import executable, inspector, python

pytestmark = [
    pytest.mark.stories,
    pytest.mark.slow,
    pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed"),
]

REPOSITORY = Path(__file__).parents[2]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
LIMIT = 240
LIBRARIES = {"accelerate": "accelerate", "lightning": "lightning.pytorch", "transformers": "transformers.trainer"}
IMPORTED = inspector(*(trainer for library, trainer in LIBRARIES.items() if find_spec(library)))


@pytest.fixture(scope="module", params=LIBRARIES)
def played(request, tmp_path_factory):
    """All scenes of that trainer's program: its folder, what each rank told, what was printed, the exit status."""
    pytest.importorskip(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    launcher = python(IMPORTED) if request.param == "lightning" else [sys.executable, *TORCHRUN]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), "AUTOGRAD_INSPECTOR_STRICT": "1"}
    environment["PYTHON_EXEC"] = str(executable(IMPORTED))  # Of the ranks that torchrun starts.
    with (folder / "said").open("w+") as said:
        program = subprocess.Popen(
            [*launcher, "-m", f"tests.integrations.programs.with_{request.param}", str(folder)],
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
        try:
            status = program.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(program)
    printed = (folder / "said").read_text()
    assert status is not None, f"a rank hangs\n{printed[-4000:]}"
    told = [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(2)]
    return SimpleNamespace(folder=folder, told=told, printed=printed, status=status)


def end(program: subprocess.Popen) -> None:
    """Leave no rank behind: torchrun gives each a session of its own, Lightning keeps them in that of the first."""
    ranks = []
    with suppress(psutil.NoSuchProcess):
        ranks = psutil.Process(program.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    for rank in ranks:
        with suppress(psutil.NoSuchProcess):
            rank.kill()


def files_of(played, scene: str) -> list[str]:
    """The names of a scene's reports."""
    return sorted(path.name for path in (played.folder / scene).rglob("step-*"))


def test_a_healthy_training_learns_the_same_and_rank_0_reports(played):
    """Bit by bit on each rank, with every step captured on each; nothing is found."""
    assert len({told[scene]["learnt"] for told in played.told for scene in ("plain", "healthy", "everyone")}) == 1
    assert [told["healthy"]["found"] for told in played.told] == [[4, []], None]
    names = [f"step-{step:06d}-rank0.{suffix}" for step in (1, 2, 4) for suffix in ("html", "json")]
    assert files_of(played, "healthy") == names
    assert files_of(played, "plain") == []


def test_healthy_steps_are_not_printed(played):
    """Only the two faults are."""
    printed = set(re.findall(r"^rank \d, step \d+", played.printed, re.MULTILINE))
    # Whether rank 0 still tells of the lost connection in its step 3 is a race with its end.
    assert printed - {"rank 0, step 3"} == {"rank 0, step 1", "rank 1, step 3"}
    assert "autograd_inspector/" not in played.printed


def test_all_ranks_write_files_of_their_own(played):
    """``all_ranks=True``: the rank stands in the name and in the report."""
    assert files_of(played, "everyone") == [
        f"step-000001-rank{r}.{suffix}" for r in (0, 1) for suffix in ("html", "json")
    ]
    for path in (played.folder / "everyone").rglob("step-*.json"):
        capture = Report.from_json(path.read_text(encoding="utf-8")).capture
        assert (f"rank{capture.rank}" in path.name, capture.world_size) == (True, 2)
    assert [told["everyone"]["found"] for told in played.told] == [[1, []], [1, []]]


def test_rank_0_writes_one_report_of_all_at_the_end(played):
    """With a column a rank, and what each found; not of a run without ours, nor of one that failed."""
    for scene, codes in (("healthy", []), ("everyone", []), ("detach", ["AG101"])):
        names = sorted(path.name for path in (played.folder / scene).rglob("all-ranks*"))
        assert names == ["all-ranks.html", "all-ranks.json"]
        [path] = (played.folder / scene).rglob("all-ranks.json")
        merged = RanksReport.from_json(path.read_text(encoding="utf-8"))
        assert (merged.placement.ranks, merged.placement.missing) == ((0, 1), ())
        assert [one.ranks for one in merged.findings if one.finding.severity != "info"] == [(0, 1)] * len(codes)
        assert [one.finding.rule for one in merged.findings if one.finding.severity != "info"] == codes
        assert all(None not in row.shares for row in merged.placement.rows)
    for scene in ("plain", "spoil"):
        assert list((played.folder / scene).rglob("all-ranks*")) == []


def test_a_cut_encoder_is_told_once(played):
    """It is cut on both ranks, and rank 0 says so."""
    assert [told["detach"]["found"] for told in played.told] == [[1, ["AG101"]], None]
    assert played.printed.count("hidden = hidden.detach()") == 1
    assert files_of(played, "detach") == ["step-000001-rank0.html", "step-000001-rank0.json"]


def test_the_rank_that_fails_explains_itself(played):
    """Rank 1 alone spoils step 3: its line is told with its rank and stands in its file, and the program ends."""
    assert played.status != 0
    assert played.printed.count("rank 1, step 3 raised RuntimeError: ") == 1
    [path] = (played.folder / "spoil").rglob("step-000003-rank1.json")
    [finding] = [f for f in Report.from_json(path.read_text(encoding="utf-8")).findings if f.severity != "info"]
    assert (finding.rule, finding.locations[0].source) == ("AG201", "hidden.mul_(0.5)")


def test_a_rank_that_lost_another_blames_no_line(played):
    """Rank 0 is killed, or raises for the lost connection: its files are whole, and nothing is found in them."""
    for path in (played.folder / "spoil").rglob("step-000003-rank0.json"):
        report = Report.from_json(path.read_text(encoding="utf-8"))
        assert [f.rule for f in report.findings if f.severity != "info"] == []
