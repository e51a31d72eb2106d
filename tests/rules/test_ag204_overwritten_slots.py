"""AG204: an entry of a pool that is taken without a copy and overwritten before it is read."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(6, 2, 4, generator=torch.Generator().manual_seed(1))


def shown_to_a_critic(query):
    """Each batch goes through a pool of two entries before a critic sees it."""

    def program():
        critic = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
        pool = torch.zeros(2, 2, 4)
        for at, batch in enumerate(X):
            trained(optimizer, critic(query(pool, at, batch.clone())).pow(2).mean())

    return program


def by_view(pool, at, batch):
    old = pool[at % 2]  # Taken.
    pool[at % 2] = batch
    return torch.cat([old, batch]) if at > 1 else batch


def by_negative_index(pool, at, batch):
    old = pool[at % 2 - 2]  # Taken.
    pool[at % 2] = batch
    return torch.cat([old, batch]) if at > 1 else batch


def by_copy(pool, at, batch):
    old = pool[at % 2].clone()
    pool[at % 2] = batch
    return torch.cat([old, batch]) if at > 1 else batch


def of_the_other_entry(pool, at, batch):
    old = pool[(at + 1) % 2]
    pool[at % 2] = batch
    return torch.cat([old, batch])


def read_before(pool, at, batch):
    old = pool[at % 2]
    both = torch.cat([old, batch])
    pool[at % 2] = batch
    return both + old.mean()


def to_be_filled(pool, at, batch):
    place = pool[at % 2]
    pool[at % 2] = batch
    return place * 1


def test_an_old_value_that_is_lost():
    """What is read behind the assignment is the new value."""
    for query in (by_view, by_negative_index):
        diagnosed(shown_to_a_critic(query), "AG204", "# Taken.", "pool", "`cat`", severity="warning", where=query)


def test_entries_that_are_copied_read_or_filled():
    """Copied; of another place; read before; or a place that each round fills and reads."""
    calm(*map(shown_to_a_critic, (by_copy, of_the_other_entry, read_before, to_be_filled)))
