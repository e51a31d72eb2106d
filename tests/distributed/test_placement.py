"""Where parameters, gradients and optimizer state live on each of several ranks."""

import pytest
import torch.distributed as dist

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")

NAMES = ["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"]

MAKE = """
def make(kind):
    if kind == "ddp":
        model = DistributedDataParallel(network())
        return model, torch.optim.AdamW(model.parameters())
    if kind == "zero":
        model = DistributedDataParallel(network())
        return model, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    model = sharded()
    return model, torch.optim.AdamW(model.parameters())
"""

HEALTHY = (
    MAKE
    + """
kind = "KIND"
plain = train(*make(kind))
model, optimizer = make(kind)
with inspect() as inspection:
    same = train(model, optimizer) == plain
found = [inspect_optimizer(optimizer, model), inspection.report]
with inspect() as inspection:
    train(*make(kind))
found.append(inspection.report)
tell({
    "same": same,
    "rules": [rules(report) for report in found],
    "notes": [report.notes for report in found],
    "names": [[row.name for row in report.placement.rows] for report in found],
    "standings": sorted({report.placement.standing(row) for report in found for row in report.placement.rows}),
    "here": [[report.capture.rank, report.capture.world_size] for report in found],
})
"""
)


@pytest.mark.parametrize(("kind", "world"), [("ddp", 2), ("fsdp", 2), ("fsdp", 4), ("zero", 2)])
def test_healthy_training_has_no_finding(tmp_path, kind, world):
    """Seen live, around whole steps, and from construction on: the plain names, no finding, the same loss."""
    for rank, told in enumerate(run_ranks(tmp_path, world, HEALTHY.replace("KIND", kind))):
        assert told["same"]
        assert told["rules"] == [[], [], []]
        assert told["notes"] == [[], [], []]
        assert told["names"] == [NAMES] * 3
        assert told["standings"] == ["optimized"]
        assert told["here"] == [[rank, world]] * 3


BYTES = (
    MAKE
    + """
def local(tensor):
    return tensor._local_tensor if hasattr(tensor, "_local_tensor") else tensor

def allocated(tensors):
    storages = {local(t).untyped_storage()._cdata: local(t).untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())

model, optimizer = make("KIND")
train(model, optimizer)
state = getattr(optimizer, "optim", optimizer).state
parameters = list(model.parameters())
whole = inspect_optimizer(optimizer, model).placement.totals.whole
tell([
    [whole.parameters, allocated(parameters)],
    [whole.gradients, allocated([p.grad for p in parameters])],
    [whole.state, allocated([t for entries in state.values() for t in entries.values()])],
])
"""
)


@pytest.mark.parametrize(("kind", "world"), [("ddp", 2), ("fsdp", 4), ("zero", 2)])
def test_bytes_are_those_of_the_local_storages(tmp_path, kind, world):
    """A rank's totals are the bytes of the storages that this rank holds, padding of shards included."""
    for told in run_ranks(tmp_path, world, BYTES.replace("KIND", kind)):
        for ours, torchs in told:
            assert ours == torchs


def test_shards_are_told_with_placements_mesh_and_both_shapes(tmp_path):
    """A DTensor's row has its global and its local shape and bytes; state is spread like its parameter.

    A parameter of one line is on one of two ranks: the other holds 0 bytes of it and of its state, and has its row.
    """
    body = """
    from torch.distributed.device_mesh import init_device_mesh
    model = sharded(mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    row, _, flat, _ = inspect_optimizer(optimizer, model).placement.rows
    spread = [row, row.gradient, *(entry for entry in row.state if entry.name != "step")]
    told = [[h.shape, h.nbytes, h.sharding.placements, h.sharding.mesh, h.sharding.mesh_names,
             h.sharding.local_shape, h.sharding.local_nbytes] for h in spread]
    empty = [flat.name, flat.sharding.local_shape, {e.name: e.sharding and e.sharding.local_nbytes for e in flat.state}]
    tell([told, empty])
    """
    for rank, (told, flat) in enumerate(run_ranks(tmp_path, 4, body)):
        lines = 3 if rank % 2 == 0 else 2
        one = [[5, 3], 60, ["Replicate()", "Shard(dim=0)"], [2, 2], ["replicate", "shard"], [lines, 3], 12 * lines]
        assert told == [one] * 4
        lines, nbytes = (1, 20) if rank % 2 == 0 else (0, 0)
        assert flat == ["model.2.weight", [lines, 5], {"step": None, "exp_avg": nbytes, "exp_avg_sq": nbytes}]


def test_the_table_and_the_records_tell_shards(tmp_path):
    """Text has placements and mesh once and both shapes; a ZeRO row says on which rank its state is."""
    body = """
    model = sharded()
    report = inspect_optimizer(torch.optim.SGD(model.parameters(), lr=0.1), model)
    told = [report.to_text(), report.placement.records()[0]]
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    train(model, optimizer)
    tell([*told, inspect_optimizer(optimizer, model).to_text()])
    """
    for text, record, zero in run_ranks(tmp_path, 2, body)[1:]:
        assert "device cpu, Shard(dim=0) over 2" in text
        assert "5×3, 2×3 here" in text
        assert (record["shape"], record["local_shape"], record["mesh"]) == ([5, 3], [2, 3], [2])
        assert (record["bytes"], record["local_bytes"]) == (60, 24)
        assert "on rank 0" in zero


def test_nothing_is_gathered(tmp_path):
    """Inspecting dispatches no op at all, so no collective runs; a rank can be looked at while the others are not."""
    body = """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        calls = []
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls.append(str(func))
            return func(*args, **(kwargs or {}))

    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    if rank == 0:
        with Counter() as counter:
            inspect_optimizer(optimizer, model)
        tell(counter.calls)
    else:
        tell([])
    """
    assert run_ranks(tmp_path, 2, body) == [[], []]


def test_state_of_other_ranks_is_told_by_their_number(tmp_path):
    """ZeroRedundancyOptimizer: each parameter's state is on one rank, and the others know on which."""
    body = """
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    train(model, optimizer)
    tell([[row.stepped_by, bool(row.state)] for row in inspect_optimizer(optimizer, model).placement.rows])
    """
    one, other = run_ranks(tmp_path, 2, body)
    for (by, has), (by_other, has_other) in zip(one, other, strict=True):
        assert has != has_other
        assert (by, by_other) == ((-2, 0) if has else (1, -2))


def test_loading_what_zero_consolidated_is_no_missing_state(tmp_path):
    """load_state_dict() inside a capture: each rank takes its share, and AG409 does not ask for the rest."""
    body = """
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    train(model, optimizer)
    optimizer.consolidate_state_dict(0)
    saved = [optimizer.state_dict() if rank == 0 else None]
    dist.broadcast_object_list(saved)
    with inspect() as inspection:
        resumed = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
        resumed.load_state_dict(saved[0])
        train(model, resumed)
    tell([rules(inspection.report), list(inspection.report.notes)])
    """
    assert run_ranks(tmp_path, 2, body) == [[[], []]] * 2
