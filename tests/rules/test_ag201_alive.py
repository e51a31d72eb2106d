"""AG201 where no backward has run yet: a loss that would raise, and graphs that are of no more use."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))
NOTEBOOK: dict[str, Any] = {}
"""What a notebook's variables would keep alive after the cell."""


def test_loss_of_an_edited_activation():
    """A cell that leaves a loss behind is told before the next cell calls backward."""

    def cell():
        hidden = nn.Linear(4, 4)(X).sigmoid()
        NOTEBOOK["loss"] = hidden.pow(2).mean()
        hidden += 1

    diagnosed(cell, "AG201", "hidden += 1", "hidden", severity="error")


def test_predictions_edited_for_display():
    """Post-processing predictions in place is nobody's error where no loss depends on them."""

    def cell():
        probabilities = nn.Linear(4, 2)(X).softmax(dim=-1)
        probabilities[probabilities < 0.5] = 0.0
        NOTEBOOK["predictions"] = probabilities

    silent(cell)


def test_checkpoints_compared():
    """Losses of several checkpoints, computed with grad mode on and never differentiated: wasteful, not wrong."""

    def cell():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        states = [{k: v * scale for k, v in net.state_dict().items()} for scale in (1.0, 2.0)]
        NOTEBOOK["losses"] = []
        for state in states:
            net.load_state_dict(state)
            NOTEBOOK["losses"].append(F.cross_entropy(net(X), Y))

    silent(cell)
