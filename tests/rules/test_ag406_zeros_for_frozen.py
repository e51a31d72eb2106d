"""AG406: parameters whose gradients are set to zero, and that a step moves by its averages or by weight decay."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

SGD, Adam = torch.optim.SGD, torch.optim.Adam


def phases(optimizer_of, hold=lambda p: p.grad.zero_(), since=2, until=6):  # Zeros.
    """A body is held still from a round on, while its head goes on learning."""
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = optimizer_of([*body.parameters(), *head.parameters()])
    for step in range(6):
        optimizer.zero_grad()
        head(body(torch.randn(8, 4))).square().mean().backward()
        for p in body.parameters() if since <= step < until else ():
            hold(p)
        optimizer.step()


def test_zeros_and_averages():
    """Adam's averages go on."""
    finding = diagnosed(
        lambda: phases(Adam), "AG406", "# Zeros.", "body.weight", "body.bias", "averages of earlier gradients",
        "4 steps", severity="warning", where=phases,
    )  # fmt: skip
    assert "weight decay" not in finding.message


def test_zeros_and_weight_decay():
    """Without averages weight decay is enough, from the first step on."""
    diagnosed(
        lambda: phases(lambda ps: SGD(ps, 0.1, weight_decay=0.01), since=0), "AG406", "# Zeros.", "by weight decay",
        severity="warning", where=phases,
    )  # fmt: skip


def test_zeros_that_hold():
    """SGD alone does not move them, no gradient is skipped, and a frozen body has none."""

    def dropped(p):
        p.grad = None

    calm(
        lambda: phases(lambda ps: SGD(ps, 0.1)),
        lambda: phases(Adam, dropped),
        lambda: phases(Adam, since=0),
    )


def test_a_round_that_is_left_out():
    """Of one step it is not known that the parameters were to stay; filled again, a gradient is none of zeros."""

    def projected(p):
        own = p.grad.clone()
        p.grad.zero_()
        p.grad.add_(own, alpha=0.5)

    calm(lambda: phases(Adam, until=3), lambda: phases(Adam, projected))
    assert not inspected(lambda: phases(Adam, until=3)).capture.error
