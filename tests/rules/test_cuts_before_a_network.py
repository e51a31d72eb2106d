"""AG101 to AG105: what an optimizer holds lies before a network that nobody trains, and was cut off from it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, silent, summary, trained

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def looked_up(offsets):
    return X + offsets


WAYS = {
    "AG101": lambda offsets: X + offsets.detach(),
    "AG102": looked_up,
    "AG104": lambda offsets: X + offsets.long(),
    "AG105": lambda offsets: X + torch.tensor(offsets.tolist()),
}


def refined(way):
    """Offsets are learned through a network with weights of its own, neither frozen nor stepped."""

    def program():
        network, offsets = nn.Linear(3, 1), torch.zeros(3, requires_grad=True)
        optimizer = torch.optim.Adam([offsets], lr=0.1)
        for _ in range(3):
            trained(optimizer, network(way(offsets)).pow(2).mean())

    return program


@pytest.mark.parametrize("code", WAYS)
def test_bare_parameters_before_a_network(code):
    """The cut is named; neither is the network to be put into the optimizer, nor is a backward missing."""
    report = inspected(refined(WAYS[code]))
    (finding,) = alarms(report)
    assert (finding.rule, finding.severity) == (code, "warning"), summary(report)
    assert "offsets" in finding.subjects


def test_bare_parameters_that_learn():
    """Without a cut there is nothing to say."""
    silent(refined(lambda offsets: X + offsets))


def test_a_module_that_fills_another():
    """Coefficients are learned by merging into a network, through `.data`: the copy is named, nothing else."""

    def merge(network, others, weights):
        for name, parameter in network.named_parameters():
            merged = sum(w * dict(other.named_parameters())[name].detach() for w, other in zip(weights, others))  # noqa: B905
            parameter.data.copy_(merged)

    def program():
        network, others = nn.Linear(3, 2), [nn.Linear(3, 2) for _ in range(2)]
        merger = nn.ParameterList([nn.Parameter(torch.full((2,), 0.5))])
        optimizer = torch.optim.Adam(merger.parameters(), lr=0.1)
        for _ in range(3):
            merge(network, others, merger[0])
            trained(optimizer, network(X).pow(2).mean())

    diagnosed(program, "AG101", "parameter.data.copy_", severity="warning", where=merge)


def test_a_target_network_is_loaded_by_intention():
    """The detached prediction is the cut; the state_dict that a target network is made of is none."""

    def program(cut):
        online, target = nn.Linear(3, 2), nn.Linear(3, 2)
        target.load_state_dict(online.state_dict())
        optimizer = torch.optim.Adam(online.parameters(), lr=0.1)
        for _ in range(2):
            prediction = online(X)
            goal = target(X)
            if cut:
                prediction = prediction.detach()
            trained(optimizer, (prediction - goal).pow(2).mean())

    diagnosed(lambda: program(cut=True), "AG101", "prediction.detach()", severity="warning", where=program)


def test_weights_replaced_by_a_copy():
    """A parameter that is made of the old one is an orphan's successor still: no cut, but AG405."""

    def program():
        network = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network = copy.deepcopy(network)
        for _ in range(2):
            trained(optimizer, network(X).pow(2).mean())

    report = inspected(program)
    assert [finding.rule for finding in alarms(report)] == ["AG405"], summary(report)
