"""AG306: a gradient that a call in place left without its sign before the step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import alarms, inspected, line_of
from .twins import calm


def stepped(edit, *, later=None):
    """Two steps, with something done to the gradients after each backward."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                edit(p.grad)
                if later is not None:
                    later(p.grad)
        optimizer.step()


@pytest.mark.parametrize(
    ("edit", "name"),
    [(lambda g: g.pow_(2), "pow_"), (lambda g: g.square_(), "square_"), (lambda g: g.abs_(), "abs_")],
)
def test_squared_in_place(edit, name):
    """Each call that returns the same of a tensor and its negative; the parameters are named."""

    def program():
        stepped(edit)

    (finding,) = alarms(inspected(program))
    assert (finding.rule, finding.severity) == ("AG306", "warning")
    assert name in finding.message
    assert "net.weight" in finding.message
    assert line_of(stepped, "edit(p.grad)") in [place.lineno for place in finding.locations]


def test_estimate_beside_the_gradient():
    """An estimate takes a new tensor; scaling, cubing, clipping and adding noise keep the sign, or set a new one."""
    calm(
        lambda: stepped(lambda g: g.pow(2)),
        lambda: stepped(lambda g: g.mul_(0.5)),
        lambda: stepped(lambda g: g.pow_(3)),
        lambda: stepped(lambda g: g.clamp_(-1, 1)),
        lambda: stepped(lambda g: g.add_(torch.randn_like(g))),
    )


def test_sign_is_put_back():
    """A compressed gradient that gets its sign again, or another value, is not told."""
    signs = {}

    def keep(grad):
        signs["last"] = grad.sign()
        grad.abs_()

    calm(
        lambda: stepped(keep, later=lambda g: g.mul_(signs["last"])),
        lambda: stepped(lambda g: g.abs_(), later=lambda g: g.copy_(torch.ones_like(g))),
    )
