"""Of several cuts above a loss that of a way on which gradient could come back is told, not one that leads nowhere."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, inspected, line_of, summary, trained

X = torch.randn(8, 4)


def culprits(program):
    """(rule, first line) of each alarm."""
    report = inspected(program)
    assert alarms(report), summary(report)
    return [(finding.rule, finding.locations[0].lineno) for finding in alarms(report)]


def test_an_action_that_was_chosen_without_gradient():
    """It enters the loss as an index: what matters is the mode under which the values were computed."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.no_grad():
            action = net(X).argmax(1, keepdim=True)
        with torch.inference_mode():
            values = net(X)
        trained(optimizer, F.mse_loss(values.gather(1, action), X[:, :1]))

    assert culprits(program) == [("AG103", line_of(program, "inference_mode"))]


def test_a_moving_average_of_the_weights():
    """The average is state: nobody looks for a gradient in how it was made."""

    def program():
        online = nn.Linear(4, 3)
        average = copy.deepcopy(online)
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for old, new in zip(average.parameters(), online.parameters(), strict=True):
            old.data.mul_(0.9).add_(new.data, alpha=0.1)
        projected = online(X).long().float()
        trained(optimizer, -(projected * average(X).detach()).sum(1).mean())

    assert culprits(program) == [("AG104", line_of(program, ".long()"))]


def test_a_term_that_became_a_number():
    """What was cut on the way to the number is of no account: the number is the cut."""

    def program():
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
        code = encoder(X)
        rounded = code + (code.round() - code).detach()
        reconstruction = F.mse_loss(decoder(rounded), X)
        loss = code.pow(2).mean() + torch.tensor(reconstruction.item())
        trained(optimizer, loss)

    assert {rule for rule, _ in culprits(program)} == {"AG105"}
