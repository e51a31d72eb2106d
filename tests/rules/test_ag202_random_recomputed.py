"""AG202: a checkpoint that recomputes with other random numbers than the forward drew."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import checkpoint as checkpointing
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X = torch.randn(5, 4)


@pytest.mark.parametrize("reentrant", [True, False])
def test_noise_inside_a_checkpoint(reentrant):
    """Noise that is drawn in forward is drawn anew in backward, whichever kind of checkpoint it is."""

    def program(**options):
        first, second = nn.Linear(4, 4), nn.Linear(4, 1)

        def noisy(h):
            h = first(h) + torch.randn_like(h)
            return second(h.tanh())

        x = X.clone().requires_grad_()
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        trained(optimizer, checkpoint(noisy, x, use_reentrant=reentrant, **options).pow(2).mean())

    found = diagnosed(
        lambda: program(preserve_rng_state=False), "AG202", "checkpoint(noisy", "preserve_rng_state", "randn_like",
        severity="error", where=program,
    )  # fmt: skip
    assert any("torch.randn_like" in place.source for place in found.locations)
    silent(program)


def test_what_draws_nothing_is_recomputed_alike():
    """Without dropout, in eval mode, or with p=0, the state of the generator does not matter."""

    def program(net, *, evaluate=False):
        net.train(not evaluate)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = checkpointing.checkpoint(net, X, use_reentrant=False, preserve_rng_state=False)
        trained(optimizer, hidden.pow(2).mean())

    def layers(p):
        return nn.Sequential(nn.Linear(4, 4), nn.Dropout(p), nn.Linear(4, 2))

    silent(lambda: program(layers(0.0)), lambda: program(nn.Linear(4, 2)))
    found = diagnosed(
        lambda: program(layers(0.3)), "AG202", "checkpointing.checkpoint(net", "dropout", severity="error",
        where=program,
    )  # fmt: skip
    assert "silently wrong" in found.message


def test_random_numbers_outside_of_the_checkpoint():
    """Dropout that runs before the checkpointed function is not recomputed."""

    def program():
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        hidden = F.dropout(body(X), 0.5)
        trained(optimizer, checkpoint(head, hidden, use_reentrant=False, preserve_rng_state=False).pow(2).mean())

    silent(program)
