"""What several ranks show where values are read: bits stay the same, and pending results are never waited for."""

from __future__ import annotations

import pytest
import torch.distributed as dist

from autograd_inspector.model.location import Location
from autograd_inspector.model.rank_summary import Done, Moment, RankSummary
from autograd_inspector.rules.ag601_replicas_diverge.parted import parted

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")

PARALLEL = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))

def parallel():
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
    return parallelize_module(network(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
"""


def test_vitals_of_parallel_layers(tmp_path):
    """The result of a functional collective is left alone until the program waits for it; the rest is measured."""
    body = (
        PARALLEL
        + """
model = parallel()
torch.manual_seed(1)
with inspect(values=True) as inspection:
    train(model, optimizer_of(model))
report = inspection.report
tell([list(report.notes), [p.name for p in report.vitals.parameters]])
"""
    )
    for notes, names in run_ranks(tmp_path, 2, body):
        assert notes == []
        assert len(names) == 4


def test_bits_are_the_same_with_and_without(tmp_path):
    """Of replicas with buffers, shards, hybrid meshes, parallel layers, and gradients that are asked for by hand."""
    body = (
        PARALLEL
        + """
from contextlib import nullcontext

class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network()
        self.register_buffer("mean", torch.zeros(3))
    def forward(self, x):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.net(x - self.mean)

def replicas():
    return DistributedDataParallel(Buffered(), broadcast_buffers=False)

def hybrid():
    return sharded(mesh=init_device_mesh("cpu", (world, 1), mesh_dim_names=("replicate", "shard")))

def alone():
    return DistributedDataParallel(network(), process_group=[dist.new_group([r]) for r in range(world)][rank])

def asked(model):
    torch.manual_seed(3 + rank)
    for _ in range(2):
        loss = model(torch.randn(4, 3)).pow(2).mean()
        with torch.no_grad():
            for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
                p -= 0.1 * g

def bits(model):
    local = [t.to_local() if hasattr(t, "to_local") else t for t in (*model.parameters(), *model.buffers())]
    return [[float(x).hex() for x in t.detach().flatten()] for t in local]

told = []
for make in (replicas, sharded, hybrid, parallel, alone):
    for run in (lambda m: train(m, optimizer_of(m)), asked):
        if run is asked and make in (sharded, hybrid, parallel):
            continue
        both = []
        for watching in (False, True):
            model = make()
            with inspect(values=True) if watching else nullcontext():
                run(model)
            both.append([bits(model), torch.get_rng_state().tolist()])
        told.append(both[0] == both[1])
tell(told)
"""
    )
    assert run_ranks(tmp_path, 2, body) == [[True] * 7] * 2


def test_what_is_imported_inside_a_block_is_observed(tmp_path):
    """fully_shard, met only when the program imports it, and nothing is left behind in the import system."""
    body = """
    import subprocess, sys
    program = '''
    import sys
    from autograd_inspector import inspect
    import torch, torch.distributed as dist
    from torch import nn
    dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=int(sys.argv[1]), world_size=2)
    assert "torch.distributed.fsdp" not in sys.modules
    with inspect() as inspection:
        from torch.distributed.fsdp import fully_shard
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        fully_shard(model[0])
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 3)).sum().backward()
        opt.step()
    assert not [finder for finder in sys.meta_path if type(finder).__module__.endswith("undisturbed.loading")]
    print(*[f.rule for f in inspection.report.findings if f.severity != "info"])
    '''
    import textwrap
    said = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(rank), folder + "/inner"],
                          capture_output=True, text=True, timeout=50)
    tell([said.stdout.split(), said.stderr[-2000:]])
    """
    for rules, errors in run_ranks(tmp_path, 2, body):
        assert rules == ["AG601"], errors


def line(number: int) -> tuple[Location, ...]:
    return (Location("train.py", number, "run", None, "", ""),)


def told(*moments: tuple[str, dict[str, int]], joins: bool = False) -> RankSummary:
    lines = tuple(Done(what, line(10 + at)) for at, (what, _) in enumerate(moments))
    return RankSummary(
        joins=joins, moment_lines=lines, moments=tuple(Moment(at, keys) for at, (_, keys) in enumerate(moments))
    )


def test_the_first_moment_at_which_ranks_part_is_told():
    """With the ranks, the names and the line; what comes later follows from it."""
    same, gradient = ("weights", {"|w": 1, "|b": 2}), ("gradients", {"|w": 3, "|b": 4})
    other = ("gradients", {"|w": 9, "|b": 4})
    later = ("stepped", {"|w": 7, "|b": 7})
    found = list(parted({0: told(same, gradient, later), 1: told(same, other, later), 2: told(same, gradient, later)}))
    ((problem, ranks),) = found
    assert ranks == (1,)
    assert problem.subjects == ("w",)
    assert problem.locations[0].lineno == 11


def test_parts_are_compared_among_the_ranks_that_share_them():
    """Ranks that hold other parts differ rightly."""
    parts = [("weights", {"0,1|w": 1}), ("weights", {"0,1|w": 1}), ("weights", {"2,3|w": 2}), ("weights", {"2,3|w": 5})]
    ((_, ranks),) = parted({rank: told(part) for rank, part in enumerate(parts)})
    assert ranks == (3,)


@pytest.mark.parametrize(
    "ranks",
    [
        {0: told(("weights", {"|w": 1})), 1: told(("weights", {"|w": 1}))},
        {0: told(("weights", {"|w": 1})), 1: told(("buffers", {"|m": 2}))},
        {0: told(("weights", {"|w": 1}), joins=True), 1: told(("weights", {"|w": 2}))},
        {0: told(("weights", {"|w": 1})), 1: told()},
    ],
)
def test_what_cannot_be_compared_is_not(ranks):
    """Equal ranks, ranks that do other things, or less, and those that may do less by intent."""
    assert list(parted(ranks)) == []
