"""`Report.gather()`: the reports of all ranks as one, on each of them."""

import pytest
import torch
import torch.distributed as dist
from torch import nn

from autograd_inspector import inspect_optimizer
from autograd_inspector.api.ranks import RanksReport

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")


@pytest.mark.parametrize("world", [2, 4])
def test_one_placement_with_a_column_a_rank(tmp_path, world):
    """Every rank gets the same; each column has what that rank holds, and the parts make up the whole."""
    body = """
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    tell(inspect_optimizer(optimizer, model).gather().to_json())
    """
    told = run_ranks(tmp_path, world, body)
    assert len(set(told)) == 1
    report = RanksReport.from_json(told[0])
    assert report.to_json() == told[0]
    placement = report.placement
    assert (placement.ranks, placement.world_size, placement.missing) == (tuple(range(world)), world, ())
    assert [row.name for row in placement.rows] == ["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"]
    assert [sum(share.parameter for share in row.shares) for row in placement.rows] == [60, 20, 20, 4]
    assert [sum(share.state for share in row.shares) for row in placement.rows] == [
        2 * nbytes + 4 * world for nbytes in (60, 20, 20, 4)
    ]
    assert placement.differing == ()


def test_what_ranks_should_have_in_common_is_marked(tmp_path):
    """Another learning rate, a parameter in the optimizer of one rank only, and one that is frozen there."""
    body = """
    model = DistributedDataParallel(network())
    given = list(model.parameters())
    optimizer = torch.optim.SGD(given[rank:], lr=0.1 * (rank + 1))
    given[3].requires_grad_(rank == 0)
    rows = inspect_optimizer(optimizer, model).gather().placement.rows
    tell([[row.name, [[each.what, each.values] for each in row.differences]] for row in rows])
    """
    told, _ = run_ranks(tmp_path, 2, body)
    rate = ["lr", [["0.1", [0]], ["0.2", [1]]]]
    assert told == [
        ["model.0.weight", [["optimizer", [["SGD", [0]], ["none", [1]]]]]],
        ["model.0.bias", [rate]],
        ["model.2.weight", [rate]],
        ["model.2.bias", [["requires_grad", [["True", [0]], ["False", [1]]]], rate]],
    ]


def test_a_rank_that_holds_nothing_has_an_empty_column(tmp_path):
    """Its report has no rows: the gathered one has None there, and marks no difference."""
    body = """
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    report = inspect_optimizer(optimizer, model) if rank == 0 else inspect_model(nn.ReLU())
    placement = report.gather().placement
    tell([placement.ranks, [[share is None for share in row.shares] for row in placement.rows],
          placement.totals[1].all, len(placement.differing)])
    """
    assert run_ranks(tmp_path, 2, body) == [[[0, 1], [[False, True]] * 4, 0, 0]] * 2


def test_captures_come_along_where_they_are_asked_for(tmp_path):
    """Each rank then has the report of every rank, with its ops, to switch between; else its own alone."""
    body = """
    def program():
        out = network()(torch.ones(2, 3))
        return out.exp().sum() if rank else out.sum()

    with inspect() as inspection:
        program().backward()
    report = inspection.report
    merged = report.gather(timeout=20, captures=True)
    ops = {r: [op.name for op in each.capture.ops] for r, each in merged.reports.items()}
    tell([[*ops], ["exp" in ops[r] for r in ops], merged.reports[rank] is report,
          [*report.gather(timeout=20).reports], merged.of_rank(1 - rank).rank])
    """
    for rank, told in enumerate(run_ranks(tmp_path, 2, body)):
        assert told == [[0, 1], [False, True], True, [rank], 1 - rank]


def test_a_rank_that_does_not_come_is_named_and_the_group_lives_on(tmp_path):
    """One line after the timeout, whichever rank is missing; then collectives and the next gather() work."""
    body = """
    import time
    report = inspect_model(network())
    said = []
    for absent in (1, 0):
        if rank != absent:
            started = time.monotonic()
            try:
                report.gather(timeout=1)
            except TimeoutError as error:
                said.append([str(error), time.monotonic() - started < 3])
        dist.barrier()
    total = torch.ones(1)
    dist.all_reduce(total)
    tell([said, total.item(), len(report.gather(timeout=20).placement.ranks)])
    """
    for absent, (said, total, ranks) in zip((1, 0), run_ranks(tmp_path, 2, body), strict=True):
        ((line, in_time),) = said
        assert line.startswith("gather: ")
        assert f"rank {absent} of 2 " in line
        assert line.endswith(" 1 s")
        assert (in_time, total, ranks) == (True, 2.0, 2)


def test_a_group_gathers_its_own_ranks(tmp_path):
    """`group=`: the columns are the group's ranks; a process outside of it is told in one line."""
    body = """
    group = dist.new_group([1, 3])
    try:
        tell(inspect_model(network()).gather(group=group, timeout=20).placement.ranks)
    except ValueError as error:
        tell(str(error))
    """
    *told, last = run_ranks(tmp_path, 4, body)
    assert [told[1], last] == [[1, 3], [1, 3]]
    for line in (told[0], told[2]):
        assert line.startswith("gather: ")
        assert "not in the given group" in line


def test_gathering_again_and_again_leaves_nothing_in_the_store(tmp_path):
    """Each round has keys of its own and takes them away: the store does not grow in a long run."""
    body = """
    report = inspect_model(network())
    store = dist.distributed_c10d._get_default_store()
    report.gather(timeout=20)
    dist.barrier()
    before = store.num_keys()
    dist.barrier()
    for _ in range(5):
        report.gather(timeout=20)
    dist.barrier()
    tell(store.num_keys() - before)
    """
    assert all(grown <= 5 for grown in run_ranks(tmp_path, 2, body))


def test_without_a_process_group_there_is_one_column():
    """A single process is rank 0 of one."""
    net = nn.Linear(2, 1)
    report = inspect_optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net).gather()
    assert (report.placement.ranks, report.placement.world_size) == ((0,), 1)
    assert [row.shares[0].parameter for row in report.placement.rows] == [8, 4]


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_timeout_is_a_positive_number(timeout):
    """Anything else is one clear line."""
    with pytest.raises(ValueError, match="timeout is a positive number"):
        inspect_optimizer(torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)).gather(timeout=timeout)
