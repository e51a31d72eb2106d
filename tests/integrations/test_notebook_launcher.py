"""accelerate's ``notebook_launcher``: ranks that are forked by a notebook, and gather their reports."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.forked import INSPECTOR, python

pytest.importorskip("accelerate")
pytestmark = [
    pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed"),
    pytest.mark.slow,
]

REPOSITORY = Path(__file__).parents[2]
PROGRAM = """
import json, socket, sys
from accelerate import notebook_launcher


def train(path):
    import torch
    from accelerate import Accelerator
    from autograd_inspector import inspect

    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    with inspect() as inspection:
        accelerator.backward(model.module(torch.randn(8, 4)).pow(2).mean())
        optimizer.step()
    merged = inspection.report.gather(timeout=60)
    if accelerator.is_main_process:
        shown = merged._repr_mimebundle_()
        found = [[each.finding.rule, each.ranks] for each in merged.findings]
        with open(path, "w") as file:
            json.dump([found, shown["text/html"]], file)


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
notebook_launcher(train, (sys.argv[1],), num_processes=2, use_port=str(port))
"""


def test_ranks_of_a_notebook_gather(tmp_path):
    """The forward around the wrapper is told once, of both ranks; the output has a switch for each of them."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    path = tmp_path / "told.json"
    subprocess.run([*python(INSPECTOR), "-c", PROGRAM, str(path)], env=environment, check=True, timeout=200)
    found, page = json.loads(path.read_text())
    assert found == [["AG601", [0, 1]]]
    assert page.count("<details") >= 2
    assert "rank 0: 1 finding" in page
    assert "rank 1: 1 finding" in page
    assert "<script" not in page
