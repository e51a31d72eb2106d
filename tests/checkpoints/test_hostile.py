"""Hostile checkpoints: one clear line, in little time and memory; nothing is run and nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from autograd_inspector import Report, inspect_checkpoint
from autograd_inspector.capture.checkpoint_files import pickle_machine as machine
from autograd_inspector.model.checkpoint import CheckpointError

from .hostile import FILES, PICKLES, a_dict, holding, number, text, zipped

MEMORY = 200_000
"""kB that looking at one may take."""
SECONDS = 10

CHILD = """
import json, os, resource, sys, time
sys.path.insert(0, sys.argv[1])
import torch
from tests.checkpoints.hostile import FILES
from autograd_inspector import inspect_checkpoint
from pathlib import Path
torch.save({"weight": torch.ones(2)}, "warm.pt")
inspect_checkpoint("warm.pt")
told = {}
for number, (name, make) in enumerate(FILES.items()):
    folder = Path(f"{number}")
    folder.mkdir()
    path = make(folder)
    before = sorted(os.listdir(folder))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        used, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        try:
            inspect_checkpoint(path)
            said = "opened"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used
        os.write(writer, json.dumps([said[:2000], grown, time.process_time() - began]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told[name] = json.loads(pipe.read() or '["died", 0, 0]')
    os.waitpid(child, 0)
    told[name].append(sorted(os.listdir(folder)) == before)
    for file in folder.iterdir():
        file.unlink()
json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What became of each file in a process of its own: what it raised, kB, seconds, whether its folder stayed."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(Path(__file__).parents[2])],
        cwd=tmp_path_factory.mktemp("hostile"), env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused(told, name):
    """In one line of the one type, within 200 MB and 10 s of processor time; nothing is written beside it."""
    said, grown, seconds, same = told[name]
    assert said.startswith("CheckpointError: ")
    assert "\n" not in said
    assert len(said) < 700
    assert grown < MEMORY
    assert seconds < SECONDS
    assert same


def test_torch_is_not_given_what_asks_for_much(tmp_path, monkeypatch):
    """Such a file is refused before: torch would take the memory."""
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("torch.load was called"))
    for name in ("bytearray", "a storage beyond the file", "strides beyond the storage", "nested tuples that share"):
        zipped(tmp_path / "a.pt", PICKLES[name])
        with pytest.raises(CheckpointError, match="refused, nothing was loaded"):
            inspect_checkpoint(tmp_path / "a.pt")


def healthy(*, old):
    """Kinds of values that checkpoints have; the shared ones and views among them stay small in the file."""
    base = torch.arange(12.0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    ema = torch.optim.swa_utils.AveragedModel(net)
    names = ["a", "b"] * 5
    recursive: list = []
    recursive.append(recursive)
    return {
        "model": net.state_dict() | {f"{dtype}": torch.ones(3).to(dtype) for dtype in (
            torch.float16, torch.bfloat16, torch.float64, torch.complex64,
            torch.int8, torch.uint8, torch.int64, torch.bool,
            # The format of before 1.6 has no storage for these.
            *(() if old else (torch.float8_e4m3fn, torch.uint16)),
        )},
        "optimizer": optimizer.state_dict(),
        "ema": ema.state_dict(),
        "views": {"rows": base.view(3, 4)[1:], "column": base.view(3, 4)[:, 1], "expanded": base[:1].expand(10**9),
                  "transposed": base.view(3, 4).t(), "none": torch.empty(0, 5), "scalar": torch.tensor(1.0)},
        "kinds": {"parameter": nn.Parameter(torch.ones(2)), "sparse": torch.eye(3).to_sparse(),
                  "csr": torch.eye(3).to_sparse_csr(), "meta": torch.empty(10**6, 10**4, device="meta"),
                  "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)},
        "others": [names, names, (names, (names,)), {"set": {1, 2}, "bytes": b"abc" * 99, "array": bytearray(b"ab")},
                   torch.Size([2, 3]), torch.float32, torch.device("cpu"), 1 + 2j, 2**100, None, True, "long " * 999],
        "recursive": recursive, 7: "a number", True: "a bool", 10**50: "a large number",
    }  # fmt: skip


@pytest.mark.parametrize("zipped", [True, False])
def test_what_is_healthy_opens(tmp_path, zipped):
    """Every kind of value and view that torch.save writes and weights_only reads; the report can be read back."""
    path = tmp_path / "a.pt"
    torch.save(healthy(old=not zipped), path, _use_new_zipfile_serialization=zipped)
    torch.load(path, weights_only=True)
    report = inspect_checkpoint(path)
    found = report.capture.checkpoint
    assert {path[0] for model in found.models for path in [model.path]} >= {"model", "ema", "views"}
    assert found.optimizers[0].path == ("optimizer",)
    views = next(model for model in found.models if model.path == ("views",))
    assert {t.name: t.shape for t in views.tensors}["expanded"] == (10**9,)
    assert Report.from_json(report.to_json()) == report


def test_tensors_are_not_read(tmp_path, monkeypatch):
    """Of a checkpoint of any size only the pickle is gone through."""
    path = tmp_path / "a.pt"
    torch.save({f"w{n}": torch.zeros(250_000) for n in range(20)}, path)
    seen = []
    made = machine.Machine.__init__
    monkeypatch.setattr(machine.Machine, "__init__", lambda *given: seen.append(len(given[1])) or made(*given))
    inspect_checkpoint(path)
    assert path.stat().st_size > 20_000_000
    assert sum(seen) < 5_000


def test_opcodes_are_gone_through_once(tmp_path, monkeypatch):
    """The work is one step for each opcode, whatever they build."""
    counts = []
    run = machine.Machine.run

    def counted(self, start):
        end = run(self, start)
        counts.append(self._steps)
        return end

    monkeypatch.setattr(machine.Machine, "run", counted)
    for tensors in (100, 200):
        torch.save({f"w{n}": torch.zeros(2) for n in range(tensors)}, tmp_path / "a.pt")
        inspect_checkpoint(tmp_path / "a.pt")
    assert counts[1] < 2.1 * counts[0]


def test_odd_values_beside_a_model_are_no_fault(tmp_path):
    """What is small is read, however odd: the weight is found."""
    for value in (b"](}e", b"](Ne", number(10**40), text("x" * 5000), b"]" + a_dict((number(1), text("one"))) + b"a"):
        zipped(tmp_path / "a.pt", holding(value))
        assert inspect_checkpoint(tmp_path / "a.pt").capture.checkpoint.models[0].tensors[0].shape == (2, 2)
