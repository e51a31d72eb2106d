"""Misplaced state and orphans are found on ranks as in one process."""

import pytest
import torch.distributed as dist

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")


def test_optimizer_made_before_fully_shard_holds_orphans(tmp_path):
    """It keeps the unsharded parameters: AG405, seen live, around the steps, and from construction on."""
    body = """
    def make():
        model = network()
        optimizer = torch.optim.AdamW(model.parameters())
        return sharded(model), optimizer

    model, optimizer = make()
    found = [rules(inspect_optimizer(optimizer, model))]
    with inspect() as inspection:
        train(model, optimizer)
    found.append(rules(inspection.report))
    with inspect() as inspection:
        train(*make())
    found.append(rules(inspection.report))
    tell(found)
    """
    for live, around, whole in run_ranks(tmp_path, 2, body):
        assert live == ["AG405"]
        assert around == ["AG405"]
        assert "AG405" in whole


def test_state_on_meta_on_one_rank(tmp_path):
    """AG401 on the rank that has it, nothing on the other; also inside a ZeroRedundancyOptimizer."""
    body = """
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    state = optimizer.state[model[0].weight]
    if rank == 1:
        state["exp_avg"] = state["exp_avg"].to("meta")
    found = [rules(inspect_optimizer(optimizer, model))]
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    train(model, optimizer)
    if rank == 1:
        for entries in optimizer.optim.state.values():
            entries["exp_avg"] = entries["exp_avg"].to("meta")
    found.append(rules(inspect_optimizer(optimizer, model)))
    tell(found)
    """
    assert run_ranks(tmp_path, 2, body) == [[[], []], [["AG401"], ["AG401"]]]


@pytest.mark.parametrize("lost", ["full_tensor", "to_local"])
def test_state_that_is_not_sharded_like_its_parameter(tmp_path, lost):
    """Plain tensors as the state of a DTensor, whole or local, are AG403: the step would mix the two and raise."""
    body = f"""
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    for parameter in model.parameters():
        optimizer.state[parameter]["exp_avg"] = optimizer.state[parameter]["exp_avg"].{lost}()
    tell(rules(inspect_optimizer(optimizer, model)))
    """
    assert run_ranks(tmp_path, 2, body) == [["AG403"]] * 2


def test_one_line_step_under_fully_shard_is_no_recomputation(tmp_path):
    """Forward and backward on one line: gathering parameters again in backward is not AG202."""
    body = """
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    with inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            optimizer.step()
    tell(rules(inspection.report))
    """
    assert run_ranks(tmp_path, 2, body) == [[]] * 2


def test_state_of_a_share_in_another_dtype(tmp_path):
    """A ZeroRedundancyOptimizer's own share is looked at: float16 moments of float32 parameters are AG402."""
    body = """
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
    train(model, optimizer)
    for entries in optimizer.optim.state.values():
        entries["exp_avg"] = entries["exp_avg"].half()
    tell(rules(inspect_optimizer(optimizer, model)))
    """
    assert run_ranks(tmp_path, 2, body) == [["AG402"]] * 2
