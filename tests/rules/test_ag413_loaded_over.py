"""AG413: options that the groups of a loaded state overwrite."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

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


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop])
def test_a_lower_rate_for_the_second_stage(kind):
    """The file's rate replaces it, and no step uses the new one."""
    finding = diagnosed(
        lambda: second_stage(kind), "AG413", "Loaded.", "lr", kind.__name__, severity="warning", where=second_stage
    )
    assert '["lr"] = 0.02' in finding.fix


def test_another_option():
    """The same of a weight decay."""
    diagnosed(
        lambda: second_stage(given={"lr": 0.1, "weight_decay": 0.3}),
        "AG413",
        "Loaded.",
        "weight_decay",
        severity="warning",
        where=second_stage,
    )


def test_wanted_options_of_the_file():
    """Set again behind the load, a schedule's, decayed in the first stage, the default or the same: nothing is lost."""
    calm(
        lambda: second_stage(then="set"),
        lambda: second_stage(then="scheduled"),
        lambda: second_stage(decayed=True),
        lambda: second_stage(scheduled=True),
        lambda: second_stage(given={}),
        lambda: second_stage(given={"lr": 0.1}),
    )


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

    calm(program)


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

    diagnosed(program, "AG413", "Loaded.", "lr", severity="warning")


def test_a_file_from_before():
    """Whether its run had that rate all along is not known: an info."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    stepped(net, optimizer)
    kept = optimizer.state_dict()

    def program():
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        optimizer.load_state_dict(kept)
        stepped(net, optimizer)

    report = inspected(program)
    assert [(f.rule, f.severity) for f in alarms(report)] in ([], [("AG413", "info")]), summary(report)
    assert [f.severity for f in report.findings if f.rule == "AG413"] == ["info"], summary(report)
