"""accelerate starts the ranks itself, from a function of a notebook, by forks: on CPUs with `debug_launcher`."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("accelerate")

PROGRAM = """
import json, sys
import torch
from accelerate import Accelerator, debug_launcher
from torch import nn
from autograd_inspector import inspect


def train(path, unwrapped):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(net, optimizer)
    torch.manual_seed(1 + accelerator.process_index)
    called = accelerator.unwrap_model(model) if unwrapped else model
    with inspect() as inspection:
        for _ in range(2):
            loss = called(torch.randn(4, 3)).pow(2).mean()
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
    merged = inspection.report.gather()
    if accelerator.is_main_process:
        loud = [found for found in merged.findings if found.finding.severity != "info"]
        told = [(found.finding.rule, list(found.ranks)) for found in loud]
        with open(path, "w") as file:
            json.dump(told, file)


if __name__ == "__main__":
    debug_launcher(train, args=(sys.argv[1], sys.argv[2] == "unwrapped"), num_processes=2)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("model", "told"), [("unwrapped", [["AG601", [0, 1]]]), ("wrapped", [])])
def test_a_function_that_accelerate_launches(tmp_path, model, told):
    """Each rank inspects its own block, and rank 0 has the report of both."""
    program = tmp_path / "notebook.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, program, tmp_path / "told.json", model]
    subprocess.run(command, env=environment, check=True, timeout=200, capture_output=True)
    assert json.loads((tmp_path / "told.json").read_text()) == told
