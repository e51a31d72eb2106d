"""AG409: an option that asks for more state than the optimizer has made."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.ones(3, 4)


def test_option_switched_on_after_the_first_step():
    """The line that sets the option is found in the source, and the parameters that lack the state are named."""

    def late():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        trained(optimizer, net(X).sum())
        for group in optimizer.param_groups:
            group["lr"] = 0.01
            group["amsgrad"] = True
        trained(optimizer, net(X).sum())

    finding = diagnosed(late, "AG409", 'group["amsgrad"] = True', "max_exp_avg_sq", "weight", "bias", severity="error")
    assert "amsgrad to Adam()" in finding.fix


def test_option_switched_on_out_of_sight():
    """Where no line is found the step is shown, with the option that the missing state belongs to."""

    def faster(optimizer):
        for group in optimizer.param_groups:
            group.update(momentum=0.9)

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.RMSprop(net.parameters())
        trained(optimizer, net(X).sum())
        faster(optimizer)
        net(X).sum().backward()
        optimizer.step()

    diagnosed(program, "AG409", "        optimizer.step()", "momentum_buffer", "momentum", severity="error")


def test_option_set_in_time():
    """Before the first step, or with fresh state, an option may be set; a learning rate always may."""

    def early():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.param_groups[0]["amsgrad"] = True
        for _ in range(2):
            trained(optimizer, net(X).sum())
            optimizer.param_groups[0]["lr"] *= 0.9

    def fresh():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        trained(optimizer, net(X).sum())
        optimizer.state.clear()
        optimizer.param_groups[0]["amsgrad"] = True
        trained(optimizer, net(X).sum())

    calm(early, fresh)


def test_key_error_of_the_program():
    """A KeyError that comes from elsewhere says nothing about the state."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        trained(optimizer, net(X).sum())
        return {"loss": 0}["max_exp_avg_sq"]

    report = inspected(program)
    assert report.capture.error.startswith("KeyError"), summary(report)
    assert not alarms(report), summary(report)
