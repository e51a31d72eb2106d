"""Cuts in a branch of `if self.training:`: the condition is shown, with the mode that the module was in."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Choice(nn.Module):
    def __init__(self, *, swapped):
        super().__init__()
        self.proj, self.out, self.swapped = nn.Linear(4, 3), nn.Linear(3, 1), swapped

    def forward(self, x):
        logits = self.proj(x)
        if self.training != self.swapped:  # condition
            weights = logits.softmax(-1)
        else:
            weights = torch.nn.functional.one_hot(logits.argmax(-1), 3).float()
        return self.out(weights)


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.out = nn.Linear(4, 3), nn.Linear(3, 1)

    def forward(self, x):
        if self.training:
            x = x + 0.01 * torch.randn_like(x)
        hidden = self.proj(x).detach()
        return self.out(hidden)


def steps(net, *, evaluated=False):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net.train()(X).pow(2).mean())
        if evaluated:
            net.eval()(X).pow(2).mean().item()


def role_of(finding, text):
    return [place.role for place in finding.locations if text in place.source]


def test_the_hard_branch_in_training():
    """The mode is the one of that call of the module."""
    found = diagnosed(
        lambda: steps(Choice(swapped=True)), "AG104", "argmax(-1)", "proj.weight", severity="warning",
        where=Choice.forward,
    )  # fmt: skip
    assert role_of(found, "# condition") == ["branch taken in training mode here"]


def test_the_mode_that_was_met():
    """A model that is trained in eval mode takes the other branch, as the finding says."""

    def program():
        net = Choice(swapped=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net.eval()
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    (found,) = (finding for finding in alarms(inspected(program)) if finding.rule == "AG104")
    assert role_of(found, "# condition") == ["branch taken in eval mode here"]


def test_a_cut_outside_of_the_branch():
    """A condition that has nothing to do with the cut is not shown."""
    (found,) = (finding for finding in alarms(inspected(lambda: steps(Kept()))) if finding.rule == "AG101")
    assert not role_of(found, "if self.training")


def test_the_hard_branch_in_evaluation():
    """The soft branch in training and the hard one in evaluation are right, with a gradient recorded or not."""

    def without_grad():
        net = Choice(swapped=False)
        steps(net)
        with torch.no_grad():
            net.eval()(X)

    calm(lambda: steps(Choice(swapped=False), evaluated=True), without_grad)
