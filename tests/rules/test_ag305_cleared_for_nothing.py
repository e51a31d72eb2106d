"""AG305: some gradients are cleared where there are none, before the backward that computes them."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm


def trained(*, early=True, until=2, clear="optimizer", part=1):
    """Four steps; in the first ones the head is to rest."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def cancel(i):
        for p in net[part].parameters() if part is not None else net.parameters():
            if i < until:
                p.grad = None  # cancelled

    for i in range(4):
        loss = net(torch.randn(3, 4)).pow(2).mean()
        if clear == "optimizer":
            optimizer.zero_grad()
        elif clear == "module":
            net[0].zero_grad()
        if early:
            cancel(i)
        loss.backward()
        if not early:
            cancel(i)
        optimizer.step()


def test_a_head_that_is_to_rest():
    """Its gradients are cleared before they are computed, in some of the steps."""
    diagnosed(
        trained, "AG305", "# cancelled", "1.weight", "1.bias", "clears nothing", severity="warning", where=trained
    )


def test_in_every_step_it_is_a_hint():
    """That may be a second way of clearing."""
    report = inspected(lambda: trained(until=4))
    (finding,) = (f for f in report.findings if "clears nothing" in f.message)
    assert (finding.rule, finding.severity) == ("AG305", "info")


def test_cleared_behind_the_backward_or_all_by_hand():
    """In time; all parameters; a part that no zero_grad() clears."""
    calm(
        lambda: trained(early=False),
        lambda: trained(part=None, until=4),
        lambda: trained(clear="module", until=4),
    )


def test_parts_that_have_their_own_ways():
    """What is frozen has no gradient, cleared or not; the second of two losses may be the only one for a part."""

    def frozen():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            if i < 2:
                for p in net[0].parameters():
                    p.grad = None
            net(torch.randn(3, 4)).pow(2).mean().backward()
            optimizer.step()

    def two_losses():
        """The head keeps the gradient of the second loss alone."""
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            net(torch.randn(3, 4)).pow(2).mean().backward()
            if i < 2:
                for p in net[1].parameters():
                    p.grad = None
            net(torch.randn(3, 4)).pow(2).mean().backward()
            optimizer.step()

    calm(frozen, two_losses)
