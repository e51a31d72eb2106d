"""AG413: options that the groups of a loaded state overwrite."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import alarms, inspected, line_of, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def stepped(net, optimizer, times=2):
    for _ in range(times):
        optimizer.zero_grad()
        trained(optimizer, net(X).pow(2).mean())


def second_stage(kind=torch.optim.Adam, then="", given=None, decayed=False, scheduled=False):
    """A second stage loads the state of the first one."""
    net = nn.Linear(4, 2)
    first = kind(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(first, 1, 0.5) if scheduled else None
    for _ in range(3):
        stepped(net, first, 1)
        if decayed:
            first.param_groups[0]["lr"] *= 0.5
        if schedule:
            schedule.step()
    second = kind(net.parameters(), **({"lr": 0.02} if given is None else given))
    second.load_state_dict(first.state_dict())  # Loaded.
    if then == "set":
        second.param_groups[0]["lr"] = 0.02
    elif then == "scheduled":
        torch.optim.lr_scheduler.ConstantLR(second, 0.5)
    stepped(net, second)


def told(program):
    """The infos of AG413, of a program that gets no alarm."""
    report = inspected(program)
    assert not alarms(report), summary(report)
    return [each for each in report.findings if each.rule == "AG413"]


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop])
def test_a_lower_rate_for_the_second_stage(kind):
    """The file's rate replaces it, and no step uses the new one."""
    (finding,) = told(lambda: second_stage(kind))
    assert finding.severity == "info"
    assert finding.locations[0].lineno == line_of(second_stage, "# Loaded.")
    assert {"lr", kind.__name__} <= set(finding.subjects)
    assert '["lr"] = 0.02' in finding.fix


def test_another_option():
    """The same of a weight decay."""
    (finding,) = told(lambda: second_stage(given={"lr": 0.1, "weight_decay": 0.3}))
    assert "weight_decay" in finding.subjects


@pytest.mark.parametrize(
    "how",
    [
        {"then": "set"},
        {"then": "scheduled"},
        {"decayed": True},
        {"scheduled": True},
        {"given": {}},
        {"given": {"lr": 0.1}},
    ],
)
def test_wanted_options_of_the_file(how):
    """Set again behind the load, a schedule's, decayed in the first stage, the default or the same: nothing is lost."""
    assert not told(lambda: second_stage(**how))


def test_a_rate_that_was_used():
    """A rollback that brings an earlier rate back replaces one that steps have used."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        stepped(net, optimizer)
        kept = optimizer.state_dict()
        optimizer.param_groups[0]["lr"] = 0.01
        stepped(net, optimizer)
        optimizer.load_state_dict(kept)
        stepped(net, optimizer)

    assert not told(program)


def test_a_reduced_rate_that_the_rollback_takes_back():
    """It was reduced for the time behind the rollback, which brings the old one."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        stepped(net, optimizer)
        kept = copy.deepcopy(optimizer.state_dict())
        stepped(net, optimizer)
        optimizer.param_groups[0]["lr"] = 0.01
        optimizer.load_state_dict(kept)  # Loaded.
        stepped(net, optimizer)

    (finding,) = told(program)
    assert finding.locations[0].lineno == line_of(program, "# Loaded.")


def test_a_file_from_before():
    """Of a run that the capture has not seen the same is said."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    stepped(net, optimizer)
    kept = optimizer.state_dict()

    def program():
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        optimizer.load_state_dict(kept)
        stepped(net, optimizer)

    assert len(told(program)) == 1
