"""AG109: two terms of a loss measure one pair, and one of them lacks the constant."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def learn(loss_of):
    encoder, codes = nn.Linear(4, 3), nn.Parameter(torch.randn(5, 3))
    optimizer = torch.optim.SGD([*encoder.parameters(), codes], lr=0.1)
    for _ in range(2):
        z = encoder(X)
        q = codes[torch.cdist(z, codes).argmin(1)]
        optimizer.zero_grad()
        loss_of(q, z).backward()
        optimizer.step()


def codebook(q, z):
    first = F.mse_loss(q, z.detach())
    return first + 0.25 * F.mse_loss(z, q)  # Commit.


def test_a_commitment_that_moves_the_codebook_too():
    """The term without a constant is named, with the end to detach there; the term beside it is shown."""
    finding = diagnosed(lambda: learn(codebook), "AG109", "# Commit.", "mse_loss", severity="warning", where=codebook)
    assert any("z.detach()" in place.source for place in finding.locations)


def test_pairs_that_are_measured_as_meant():
    """A constant in each of the terms, one term alone, two measures, or no constant at all."""
    calm(
        lambda: learn(lambda q, z: F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())),
        lambda: learn(F.mse_loss),
        lambda: learn(lambda q, z: F.mse_loss(q, z.detach()) + F.l1_loss(q, z)),
        lambda: learn(lambda q, z: F.mse_loss(q, z) + F.mse_loss(z, q)),
    )
