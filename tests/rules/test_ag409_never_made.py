"""AG409: a hand-written optimizer that made state for some of its parameters only, and looks for the others'."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.ones(3, 4)


class Early(torch.optim.Optimizer):
    def __init__(self, params, everything=False):
        super().__init__(params, {"lr": 0.1})
        for group in self.param_groups:
            for p in group["params"]:
                if everything or p.requires_grad:
                    self.state[p] = {"mean": torch.zeros_like(p), "last": torch.zeros_like(p)}

    def update(self, p, state, group):
        state["mean"].lerp_(p.grad, 0.1)
        p.sub_(group["lr"] * state["mean"])

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, self.state[p], group)


class Mended(Early):
    def update(self, p, state, group):
        for key in ["mean", "last"]:
            self.state[p].setdefault(key, torch.zeros_like(p))
        super().update(p, self.state[p], group)


def unfrozen(kind, *, layer=0, **settings):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    optimizer = kind(net.parameters(), **settings)
    for epoch in range(3):
        if epoch == 1:
            net[layer].requires_grad_(True)
        trained(optimizer, net(X).pow(2).mean())


def test_state_made_for_what_was_trainable():
    """The line that makes the state, the one that unfreezes and the step that raised are told."""
    finding = diagnosed(
        lambda: unfrozen(Early), "AG409", 'self.state[p] = {"mean"', "0.weight", "0.bias", "mean",
        severity="error", where=Early,
    )  # fmt: skip
    assert "unfrozen here" in [place.role for place in finding.locations]
    assert "for key in ['mean', 'last']: self.state[p].setdefault(key, torch.zeros_like(p))" in finding.fix


def test_state_for_all_or_made_where_it_is_missing():
    """State for all parameters, state that the step makes, and layers that stay frozen are healthy."""
    calm(lambda: unfrozen(Early, everything=True), lambda: unfrozen(Mended), lambda: unfrozen(Early, layer=1))


def test_a_key_that_no_state_has():
    """A step that misses a key of its groups, or of anything else, says nothing about state."""

    class Careless(Early):
        def update(self, p, state, group):
            return group["weight_decay"]

    report = inspected(lambda: unfrozen(Careless))
    assert report.capture.error == "KeyError: 'weight_decay'"
    assert not alarms(report), summary(report)
