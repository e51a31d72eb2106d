"""AG102 and AG303 name the line where the loss takes the constant in, and AG102 what told the mode to the switch."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Cached:
    """Features that one method computes without gradients, and another puts into the loss."""

    def __init__(self, net):
        self.net, self.kept = net, []

    def keep(self):
        with torch.no_grad():
            self.kept.append(self.net(X))

    def loss(self, head):
        return head(torch.cat(self.kept)).pow(2).mean()


def from_a_cache():
    net, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        cached = Cached(net)
        cached.keep()
        trained(optimizer, cached.loss(head))


def cycles(last):
    """Recycling: gradient is recorded in the last cycle."""
    net, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h = X
        for cycle in range(2):
            recorded = cycle == last
            with torch.set_grad_enabled(recorded):
                h = net(h).relu()
        trained(optimizer, head(h).pow(2).mean())


class Rounding(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def forward(self, x):
        return self.net(x), torch.round(self.net(x))


def loss_of(outputs, chosen):
    return (outputs[chosen] - 1).pow(2).mean()


def rounded(chosen):
    net = Rounding()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        trained(optimizer, loss_of(net(X), chosen))


def named(program, rule):
    report = inspected(program)
    (finding,) = alarms(report)
    assert finding.rule == rule, summary(report)
    return {(place.source.strip(), place.role) for place in finding.locations}


def test_the_line_where_the_loss_takes_in_what_was_computed_without_gradients():
    """It is another method's than the one that computes it."""
    assert (
        "return head(torch.cat(self.kept)).pow(2).mean()",
        "the loss is computed from it here",
    ) in named(from_a_cache, "AG102")


def test_the_line_that_sets_what_the_switch_is_told():
    """`set_grad_enabled(recorded)`: the comparison that is never true; where it is, once, nothing is told."""
    assert ("recorded = cycle == last", "condition computed here") in named(lambda: cycles(2), "AG102")
    calm(lambda: cycles(1))


def test_the_line_where_the_loss_takes_in_what_was_rounded():
    """A forward may return a rounded value for something else: the loss that uses it is the mistake."""
    assert (
        "return (outputs[chosen] - 1).pow(2).mean()",
        "the loss is computed from it here",
    ) in named(lambda: rounded(1), "AG303")
    calm(lambda: rounded(0))
