"""A default device puts a mode of torch's between the program's lines and the recorder: nothing is told otherwise."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograd_inspector import inspect


def cleared_too_often() -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, x in enumerate(torch.randn(8, 4).split(2), 1):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        if number % 4 == 0:
            optimizer.step()


def no_grad_over_the_trunk() -> None:
    trunk, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            features = trunk(torch.randn(2, 4))
        head(features).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def sampled() -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        mean = net(torch.randn(2, 4))
        F.mse_loss(torch.distributions.Normal(mean, 1.0).sample(), mean.detach()).add(net.bias.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()


def found(program) -> list[tuple[str, str, list[int]]]:
    with inspect() as inspection:
        program()
    findings = inspection.report.findings
    return [(each.rule, each.message, [place.lineno for place in each.locations]) for each in findings]


@pytest.mark.parametrize("program", [cleared_too_often, no_grad_over_the_trunk, sampled])
def test_findings_are_those_without_a_default_device(program):
    """Reads of gradients, grad modes and draws are told from the program's own lines, with the mode on or off."""
    plain = found(program)
    assert plain
    torch.set_default_device("cpu")
    try:
        assert found(program) == plain
    finally:
        torch.set_default_device(None)
