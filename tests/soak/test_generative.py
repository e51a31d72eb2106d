"""Adversaries and autoencoders: several optimizers, stopped gradients, samples."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .quiet import X, assert_quiet, mlp, stepped


def adversarial():
    g, d = mlp(3, 4), mlp(4, 1)
    opt_g, opt_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(2):
        fake = g(torch.randn(8, 3))
        real_loss = F.binary_cross_entropy_with_logits(d(X), ones)
        stepped(opt_d, real_loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zeros))
        stepped(opt_g, F.binary_cross_entropy_with_logits(d(fake), ones))


def wasserstein_with_gradient_penalty():
    g, d = mlp(3, 4), mlp(4, 1)
    opt_g, opt_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for _ in range(2):
        for _ in range(2):
            with torch.no_grad():
                fake = g(torch.randn(8, 3))
            mix = torch.rand(8, 1)
            between = (mix * X + (1 - mix) * fake).requires_grad_()
            (slope,) = torch.autograd.grad(d(between).sum(), between, create_graph=True)
            stepped(opt_d, d(fake).mean() - d(X).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean())
        for parameter in d.parameters():
            parameter.requires_grad_(False)
        stepped(opt_g, -d(g(torch.randn(8, 3))).mean())
        for parameter in d.parameters():
            parameter.requires_grad_(True)


def wasserstein_with_clipping():
    g, d = mlp(3, 4), mlp(4, 1)
    opt_g, opt_d = torch.optim.RMSprop(g.parameters()), torch.optim.RMSprop(d.parameters())
    for _ in range(2):
        stepped(opt_d, d(g(torch.randn(8, 3)).detach()).mean() - d(X).mean())
        for parameter in d.parameters():
            parameter.data.clamp_(-0.01, 0.01)
        stepped(opt_g, -d(g(torch.randn(8, 3))).mean())


def variational_autoencoder():
    encoder, decoder = mlp(4, 6), mlp(3, 4)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(2):
        mu, log_var = encoder(X).chunk(2, dim=-1)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        divergence = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
        stepped(optimizer, F.mse_loss(decoder(z), X) + divergence)


def vector_quantised_autoencoder():
    encoder, decoder, codes = mlp(4, 3), mlp(3, 4), nn.Embedding(6, 3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()])
    for _ in range(2):
        z = encoder(X)
        q = codes(torch.cdist(z, codes.weight).argmin(dim=1))
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        stepped(optimizer, loss + F.mse_loss(decoder(z + (q - z).detach()), X))


LOOPS = [
    adversarial,
    wasserstein_with_gradient_penalty,
    wasserstein_with_clipping,
    variational_autoencoder,
    vector_quantised_autoencoder,
]


@pytest.mark.parametrize("values", [False, True], ids=["structure", "values"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, values):
    """A healthy training loop raises no alarm."""
    assert_quiet(loop, values=values)
