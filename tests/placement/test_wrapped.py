"""Optimizers inside the wrappers of Lightning, accelerate and torch.distributed, and several on one model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import inspect_optimizer

from .optimizers import CASES
from .test_situations import SITUATIONS

X = torch.ones(2, 4)


def network() -> nn.ModuleDict:
    return nn.ModuleDict({"body": nn.Linear(4, 4), "head": nn.Linear(4, 1)})


def train(net, *optimizers) -> None:
    for _ in range(2):
        for optimizer in optimizers:
            optimizer.zero_grad()
        net["head"](torch.tanh(net["body"](X))).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()


def states(report) -> dict[str, list[str]]:
    return {row.name: [entry.name for entry in row.state] for row in report.placement.rows}


def test_lightning_optimizer_is_looked_through():
    """A LightningOptimizer, which imitates the class it wraps, shows the state of the optimizer inside, once."""
    from lightning.pytorch.core.optimizer import LightningOptimizer

    net = network()
    optimizer = torch.optim.Adam(net.parameters())
    train(net, optimizer)
    report = inspect_optimizer(LightningOptimizer(optimizer), net)
    assert [record.type for record in report.placement.optimizers] == ["Adam"]
    assert states(report)["net.body.weight"] == ["step", "exp_avg", "exp_avg_sq"]
    assert report.findings == ()


def test_accelerated_optimizer_is_looked_through():
    """A loop with accelerate: its optimizer's steps, and its state, are those of the optimizer inside."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    net = network()
    net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    with autograd_inspector.inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            accelerator.backward(net["head"](torch.tanh(net["body"](X))).square().mean())
            optimizer.step()
    for report in (inspection.report, inspect_optimizer(optimizer, net)):
        assert [record.type for record in report.placement.optimizers] == ["AdamW"]
        assert states(report)["net.head.bias"] == ["step", "exp_avg", "exp_avg_sq"]
        assert report.findings == ()
    assert len(inspection.report.capture.steps) == 2


def test_several_optimizers_of_one_model():
    """Each parameter is with its own optimizer; what none of them holds stands by itself."""
    net = network()
    one = torch.optim.SGD(net["body"].parameters(), lr=0.1, momentum=0.9)
    two = torch.optim.Adam([net["head"].weight])
    train(net, one, two)
    report = inspect_optimizer([one, two], net)
    placement = report.placement
    held = {row.name: placement.optimizers[row.optimizer].type if row.optimizer >= 0 else "" for row in placement.rows}
    assert held == {"net.body.weight": "SGD", "net.body.bias": "SGD", "net.head.weight": "Adam", "net.head.bias": ""}
    assert placement.standing(placement.rows[-1]) == "not optimized"
    assert [finding.rule for finding in report.findings] == ["AG404"]


def test_differentiable_step():
    """A differentiable optimizer steps non-leaf copies; its state has a graph, and is shown like any other."""
    net = network()
    copies = [parameter.clone() for parameter in net.parameters()]
    optimizer = torch.optim.Adam(copies, differentiable=True)
    for copy in copies:
        copy.grad = torch.ones_like(copy, requires_grad=True) * 2
    optimizer.step()
    report = inspect_optimizer(optimizer)
    assert [[entry.name for entry in row.state] for row in report.placement.rows] == [
        ["step", "exp_avg", "exp_avg_sq"]
    ] * 4
    assert report.findings == ()


@pytest.mark.parametrize("wrong", [None, "Adam", nn.Linear(1, 1), torch.ones(2), [], [torch.ones(1)]], ids=repr)
def test_anything_else_is_refused_in_one_line(wrong):
    """The message says what was given and what is wanted."""
    with pytest.raises(TypeError, match=r"^inspect_optimizer: [^\n]+$"):
        inspect_optimizer(wrong)


def lightning(optimizer):
    from lightning.pytorch.core.optimizer import LightningOptimizer

    return LightningOptimizer(optimizer)


def accelerated(optimizer):
    from accelerate import Accelerator
    from accelerate.optimizer import AcceleratedOptimizer

    Accelerator(cpu=True)  # The wrapper asks for its state.
    # Placing devices loads the state into itself, which repairs what is to be found here.
    return AcceleratedOptimizer(optimizer, device_placement=False)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
@pytest.mark.parametrize("wrap", [lightning, accelerated])
@pytest.mark.parametrize("name", ["Adam", "SGD momentum", "AdamW fused"])
def test_situations_of_a_wrapped_optimizer(name, wrap, situation):
    """A wrapper hides no finding and adds none: fresh, stepped, resumed, cast, moved, replaced."""
    (case,) = [case for case in CASES if case.name == name]
    network, optimizer = situation(case)
    expected = SITUATIONS[situation]
    findings = inspect_optimizer(wrap(optimizer), network).findings
    assert [finding.rule for finding in findings] == ([expected] if expected else [])
