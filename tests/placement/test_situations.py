"""Every optimizer in every situation that a resumed or converted run may be in: the rules that speak, and no others."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from autograd_inspector import inspect_optimizer

from .optimizers import CASES

OTHER = "cuda" if torch.cuda.is_available() else "meta"
"""The second device: the rules read metadata only, so ``meta`` serves on a machine that has the CPU alone."""


def fresh(case):
    """Just built."""
    network = case.network()
    return network, case.make(network.parameters())


def stepped(case):
    """After two steps."""
    network, optimizer = fresh(case)
    case.step(network, optimizer)
    case.step(network, optimizer)
    return network, optimizer


def resumed(case):
    """The model loaded and converted first, then the optimizer built and its state loaded."""
    saved, state = stepped(case)
    network = case.network()
    network.load_state_dict(saved.state_dict())
    network.to(torch.bfloat16)
    optimizer = case.make(network.parameters())
    optimizer.load_state_dict(copy.deepcopy(state.state_dict()))
    return network, optimizer


def resumed_in_the_wrong_order(case):
    """The optimizer's state loaded first, the model converted afterwards."""
    saved, state = stepped(case)
    network, optimizer = fresh(case)
    optimizer.load_state_dict(copy.deepcopy(state.state_dict()))
    network.load_state_dict(saved.state_dict())
    network.to(torch.bfloat16)
    return network, optimizer


def cast(case):
    """Converted to another dtype while training."""
    network, optimizer = stepped(case)
    network.to(torch.float64)
    return network, optimizer


def moved(case):
    """Moved to another device, where the parameters stay the same objects."""
    network, optimizer = stepped(case)
    optimizer.zero_grad()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        network.to(OTHER)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    return network, optimizer


def moved_into_new_parameters(case):
    """Moved to ``meta``, which makes new Parameters."""
    network, optimizer = stepped(case)
    network.to("meta")
    return network, optimizer


def replaced(case):
    """One weight replaced by a new Parameter."""
    network, optimizer = stepped(case)
    last = [module for module in network.modules() if isinstance(getattr(module, "weight", None), nn.Parameter)][-1]
    last.weight = nn.Parameter(last.weight.detach().clone())
    return network, optimizer


SITUATIONS = {
    fresh: "",
    stepped: "",
    resumed: "",
    resumed_in_the_wrong_order: "AG402",
    cast: "AG402",
    moved: "AG401",
    moved_into_new_parameters: "AG405",
    replaced: "AG405",
}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rules_that_speak(case, situation):
    """One finding where state does not belong to its parameter, none where it does; certain where the step raises."""
    network, optimizer = situation(case)
    expected = SITUATIONS[situation]
    if case.stateless and expected in {"AG401", "AG402"}:
        expected = ""
    findings = inspect_optimizer(optimizer, network).findings
    assert [finding.rule for finding in findings] == ([expected] if expected else [])
    if expected == "AG402":
        assert findings[0].severity == ("error" if raises(case, network, optimizer) else "warning")


def raises(case, network, optimizer) -> bool:
    try:
        case.step(network, optimizer)
    except RuntimeError:
        return True
    return False
