"""GAN: the discriminator is frozen after it has seen the fakes; torch stores no gradient in what is frozen by then."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G, D = nn.Linear(4, 6), nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.SGD(D.parameters(), 1e-2)
    bce = nn.functional.binary_cross_entropy_with_logits
    stored = []
    for _ in range(3):
        opt_g.zero_grad()
        opt_d.zero_grad()
        score = D(G(torch.randn(8, 4)))
        D.requires_grad_(False)
        bce(score, torch.ones(8, 1)).backward()
        opt_g.step()
        D.requires_grad_(True)
        stored.append(D[0].weight.grad is not None)
        real, fake = torch.randn(8, 6), G(torch.randn(8, 4)).detach()
        (bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1))).backward()
        opt_d.step()
    return stored


def verify(stored):
    assert not any(stored)


TRUTH = Truth()
