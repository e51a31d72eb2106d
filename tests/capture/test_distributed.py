"""DistributedDataParallel and collectives, on gloo with two processes."""

import json
import subprocess
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.forked import python

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")

WORKER = """
import json, os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
import autograd_inspector

rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)

def train():
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    return [total.item(), *[p.detach().sum().item() for p in model.parameters()]]

plain = train()
with autograd_inspector.inspect() as inspection:
    inspected = train()
capture = inspection.report.capture
names = [op.name for op in capture.ops]
with open(f"{folder}/{rank}.json", "w") as file:
    json.dump(
        {
            "same": plain == inspected,
            "reduced": names.count("all_reduce"),
            "steps": len(capture.steps),
            "parameters": sorted({n for t in capture.tensors if t.kind == "parameter" for n in t.names}),
            "reached": [len(run.reached) for run in capture.backwards],
            "notes": capture.notes,
            "findings": [f.rule for f in inspection.report.findings if f.severity != "info"],
        },
        file,
    )
dist.destroy_process_group()
os._exit(0)  # Not torn down while a thread of gloo's may still want the interpreter: see tests/distributed/ranks.py.
"""


def test_data_parallel_training_in_two_processes(tmp_path: Path):
    """The same bits with and without; the reducer's hooks and the collective are seen and disturb nothing."""
    command = [*python(), "-c", WORKER]
    workers = [
        subprocess.Popen([*command, str(rank), str(tmp_path)], stderr=subprocess.PIPE, text=True) for rank in range(2)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors[-2000:]
    for rank in range(2):
        seen = json.loads((tmp_path / f"{rank}.json").read_text())
        assert seen["same"]
        assert (seen["reduced"], seen["steps"], seen["reached"]) == (1, 2, [4, 4])
        assert seen["parameters"] == ["0.bias", "0.weight", "2.bias", "2.weight"]
        assert seen["notes"] == []
        assert seen["findings"] == []
