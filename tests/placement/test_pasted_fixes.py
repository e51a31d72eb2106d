"""What a fix offers to paste is a statement that repairs the program."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import inspect_optimizer

from .optimizers import CASES
from .test_situations import cast, moved

X = torch.ones(2, 4)


def statement(finding) -> str:
    """The first code in a fix."""
    return finding.fix.split("`")[1]


@pytest.mark.parametrize("case", [case for case in CASES if not case.stateless], ids=lambda case: case.name)
def test_state_is_brought_to_its_parameters(case):
    """The statement of AG401 and of AG402 ends the finding, for every optimizer."""
    for situation in (moved, cast):
        network, optimizer = situation(case)
        (finding,) = inspect_optimizer(optimizer, network).findings
        exec(statement(finding), {"torch": torch, "optimizer": optimizer})
        assert inspect_optimizer(optimizer, network).findings == ()


def test_state_of_another_dtype_is_moved_as_it_is():
    """Float32 moments of a bfloat16 model are not cast on the way."""
    net = nn.Linear(4, 2).bfloat16()
    optimizer = torch.optim.Adam(net.parameters())
    for parameter in net.parameters():
        moments = {name: torch.zeros(parameter.shape) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.tensor(1.0), **moments}
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        net.to("meta")
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    found = [finding for finding in inspect_optimizer(optimizer, net).findings if finding.rule == "AG401"]
    exec(statement(found[0]), {"torch": torch, "optimizer": optimizer})
    state = optimizer.state[net.weight]
    assert (state["exp_avg"].dtype, state["exp_avg"].device.type) == (torch.float32, "meta")


def test_state_without_data_is_to_be_loaded_again():
    """Nothing can be copied out of meta: the fix does not offer to."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(X).sum().backward()
    optimizer.step()
    for state in optimizer.state.values():
        state["momentum_buffer"] = state["momentum_buffer"].to("meta")
    (finding,) = inspect_optimizer(optimizer, net).findings
    assert "load it again" in finding.fix
    assert "`" not in finding.fix


def test_parameters_left_out_are_added_as_a_group():
    """AG404 offers ``add_param_group`` with the module's own path and the program's name for the optimizer."""
    net = nn.ModuleDict({"body": nn.Linear(4, 4), "head": nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))})
    with autograd_inspector.inspect() as inspection:
        stepper = torch.optim.SGD(net["body"].parameters(), lr=0.1)
        net["head"](net["body"](X)).sum().backward()
        stepper.step()
    (finding,) = inspection.report.findings
    assert statement(finding) == 'stepper.add_param_group({"params": net.get_submodule("head").parameters()})'
    exec(statement(finding), {"stepper": stepper, "net": net})
    assert inspect_optimizer(stepper, net).findings == ()


def test_some_parameters_of_a_module_are_named_one_by_one():
    """A group that is no whole module lists its parameters."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD([*net[0].parameters(), net[1].weight], lr=0.1)
    with autograd_inspector.inspect() as inspection:
        net(X).sum().backward()
        optimizer.step()
    (finding,) = inspection.report.findings
    assert statement(finding) == 'optimizer.add_param_group({"params": [net.get_parameter("1.bias")]})'


def test_an_optimizer_of_orphans_is_made_anew():
    """AG405 offers the constructor, with the settings that the optimizer had."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.02, betas=(0.8, 0.9), weight_decay=0.1)
        net.load_state_dict(copy.deepcopy(net.state_dict()), assign=True)
        net(X).sum().backward()
        optimizer.step()
    (finding,) = inspection.report.findings
    made = "optimizer = torch.optim.AdamW(net.parameters(), lr=0.02, betas=(0.8, 0.9), weight_decay=0.1)"
    assert statement(finding) == made
    space = {"torch": torch, "net": net}
    exec(made, space)
    assert inspect_optimizer(space["optimizer"], net).findings == ()
