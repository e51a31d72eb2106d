"""AG409: optimizer state that no step finds again."""

from __future__ import annotations

import copy
from collections import defaultdict

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained(net, optimizer):
    optimizer.zero_grad()
    net(X).pow(2).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad])
def test_an_optimizer_for_each_step(kind):
    """The loop makes it: its moments are those of one gradient."""

    def program():
        net = nn.Linear(4, 2)
        for _ in range(4):
            optimizer = kind(net.parameters(), lr=0.1)  # Made.
            trained(net, optimizer)

    finding = diagnosed(program, "AG409", "Made.", "weight", kind.__name__, severity="warning")
    assert "before the loop" in finding.fix


def test_an_optimizer_for_each_step_of_an_image():
    """The pixels that are clamped between the steps go on from where they were; those that are loaded begin again."""

    def program(*, loaded):
        image, start = torch.rand(4, requires_grad=True), torch.rand(4)
        for _ in range(4):
            optimizer = torch.optim.Adam([image], lr=0.1)  # Made.
            optimizer.zero_grad()
            (image - X[0]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                image.clamp_(0, 1)
                if loaded:
                    image.copy_(start)

    diagnosed(lambda: program(loaded=False), "AG409", "Made.", "image", severity="warning", where=program)
    calm(lambda: program(loaded=True))


def cleared(net, optimizer):
    trained(net, optimizer)
    optimizer.state.clear()  # Removed.


def replaced(net, optimizer):
    trained(net, optimizer)
    optimizer.state = defaultdict(dict)  # Removed.


def popped(net, optimizer):
    trained(net, optimizer)
    for parameter in net.parameters():
        optimizer.state.pop(parameter)  # Removed.


@pytest.mark.parametrize("step", [cleared, replaced, popped])
@pytest.mark.parametrize("rounds", [2, 40])
def test_state_removed_after_each_step(step, rounds):
    """What one step has made is gone in the next; in a long run, too, whose older steps are folded away."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(rounds):
            step(net, optimizer)

    diagnosed(program, "AG409", "Removed.", "weight", severity="warning", where=step)


def removed_once():
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    trained(net, optimizer)
    trained(net, optimizer)
    optimizer.state.clear()
    trained(net, optimizer)


def phases():
    net = nn.Linear(4, 2)
    for _ in range(3):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(net, optimizer)


def stateless():
    net = nn.Linear(4, 2)
    for _ in range(4):
        trained(net, torch.optim.SGD(net.parameters(), lr=0.1))


def adapted_to_each_sample():
    net = nn.Linear(4, 2)
    weights = copy.deepcopy(net.state_dict())
    for _ in range(4):
        net.load_state_dict(weights)
        trained(net, torch.optim.Adam(net.parameters(), lr=0.1))


def inner_loops():
    net = nn.Linear(4, 2)
    for _ in range(4):
        learner = copy.deepcopy(net)
        trained(learner, torch.optim.Adam(learner.parameters(), lr=0.1))


def line_searches():
    net = nn.Linear(4, 2)
    for _ in range(4):
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)

        def closure(optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(X).pow(2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)


@pytest.mark.parametrize(
    "program", [removed_once, phases, stateless, adapted_to_each_sample, inner_loops, line_searches]
)
def test_new_state_that_is_meant(program):
    """A restart, a phase, a model that is loaded again or copied, an optimizer that keeps nothing."""
    calm(program)


def test_one_finding_for_all_parameters():
    """Those of one optimizer are told together."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(3):
            cleared(net, optimizer)

    (finding,) = inspected(program).findings
    assert set(finding.subjects) == {"net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"}
