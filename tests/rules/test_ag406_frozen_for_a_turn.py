"""AG406: a part of what an optimizer trains is frozen for the turn of another one, and stays so."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def imagined(*, thaw=False, when="turn", penalty=False, rounds=3, since=0):
    """A model learns from data, and an actor from what the model makes of its actions."""
    model, skip, actor = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
    opt_m = torch.optim.SGD([*model.parameters(), *skip.parameters()], 0.1)
    opt_a = torch.optim.SGD(actor.parameters(), 0.1)
    for i in range(rounds):
        x = torch.randn(4, 3)
        opt_m.zero_grad()
        term = sum(p.pow(2).sum() for p in model.parameters()) if penalty else model(x).pow(2).mean()
        (skip(model(x)).pow(2).mean() + term).backward()
        opt_m.step()
        if when == "turn" and i >= since:
            model.requires_grad_(False)  # for the actor
        opt_a.zero_grad()
        model(actor(x)).mean().backward()
        opt_a.step()
        if thaw:
            model.requires_grad_(True)
        if when == "end" and i >= since:
            model.requires_grad_(False)


def test_a_model_that_is_frozen_while_the_actor_learns():
    """A term of its own loss is a constant from then on."""
    diagnosed(
        imagined, "AG406", "# for the actor", "weight", "opt_a.step()", "the last 2 steps of opt_m",
        severity="warning", where=imagined,
    )  # fmt: skip
    diagnosed(
        lambda: imagined(since=1, rounds=4), "AG406", "# for the actor", "weight", severity="warning", where=imagined
    )


def test_thawed_in_time_or_frozen_for_good():
    """Thawed behind the turn; frozen at the end of a round; a penalty on what is frozen is a constant by itself."""
    calm(lambda: imagined(thaw=True), lambda: imagined(when="end"), lambda: imagined(penalty=True))


def test_layers_that_are_frozen_one_after_the_other():
    """Two networks in turns, of which one freezes its first layer before the other's turn, and learns on above it."""

    def discriminated():
        lower, upper, maker = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(3, 3)
        opt_d = torch.optim.SGD([*lower.parameters(), *upper.parameters()], 0.1)
        opt_g = torch.optim.SGD(maker.parameters(), 0.1)
        for i in range(4):
            real, fake = torch.randn(4, 3), maker(torch.randn(4, 3))
            opt_d.zero_grad()
            (upper(lower(fake.detach()).relu()).mean() - upper(lower(real).relu()).mean()).backward()
            opt_d.step()
            if i == 1:
                lower.requires_grad_(False)
            opt_g.zero_grad()
            (-upper(lower(fake).relu())).mean().backward()
            opt_g.step()

    calm(discriminated)
