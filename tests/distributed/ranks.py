"""Runs a piece of program on several gloo ranks, each a process, and collects what each returned."""

import json
import os
import signal
import subprocess
import textwrap
from contextlib import suppress
from pathlib import Path

from tests.forked import inspector, python

# As the preamble does: what a module of torch's sees when it is first imported is the same.
IMPORTED = inspector("torch.distributed.fsdp", "torch.distributed.optim", "torch.nn.parallel")
REPOSITORY = Path(__file__).parents[2]
LIMIT = 60

PREAMBLE = """
import json, os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
import autograd_inspector
from autograd_inspector import inspect, inspect_model, inspect_optimizer

torch.set_num_threads(1)
rank, world, folder, children = 0, int(sys.argv[1]), sys.argv[2], []
for other in range(1, world):
    child = os.fork()  # torch is imported once, not by each rank.
    if child == 0:
        rank, children = other, []
        break
    children.append(child)
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))


def sharded(model=None, **options):
    model = network() if model is None else model
    for part in (model[0], model[2], model):
        fully_shard(part, **options)
    return model


def train(model, optimizer, steps=2):
    torch.manual_seed(1 + rank)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def rules(report):
    return [finding.rule for finding in report.findings if finding.severity != "info"]


def tell(value):
    with open(f"{folder}/told-{rank}.json", "w") as file:
        json.dump(value, file)

"""

ENDING = """
dist.destroy_process_group()
if rank:
    # As multiprocessing ends what it forks. Before Python 3.14 a thread of gloo's that lets go of a tensor while the
    # interpreter is torn down can end the process: "terminate called without an active exception" (pytorch#38228).
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def run_ranks(folder: Path, world: int, body: str) -> list:
    """What each rank gave to ``tell(value)``; fails with the end of what they printed when one of them failed."""
    program = folder / "program.py"
    program.write_text(PREAMBLE + textwrap.dedent(body) + ENDING)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), "AUTOGRAD_INSPECTOR_STRICT": "1"}
    with (folder / "said").open("w+") as output:
        ranks = subprocess.Popen(
            [*python(IMPORTED), program, str(world), str(folder)],
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        try:
            status = ranks.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            status = "none: a rank hangs"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(ranks.pid, signal.SIGKILL)  # The ranks of this program: it leads a session of its own.
    assert status == 0, f"exit status {status}\n{(folder / 'said').read_text()[-4000:]}"
    return [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(world)]
