"""Healthy: WGAN-GP where the critic's requires_grad is switched off for the generator's step, with a gradient penalty and several critic steps."""

import itertools

import torch
import torch.nn as nn

from tests.practice.truth import Truth

LATENT, DATA, BATCH = 4, 3, 12
N_CRITIC, LAMBDA = 2, 10.0


def mlp(n_in, n_out, act):
    return nn.Sequential(nn.Linear(n_in, 20), act, nn.Linear(20, 20), act, nn.Linear(20, n_out))


def requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad = flag


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = torch.autograd.grad(score, mix, torch.ones_like(score), create_graph=True, retain_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def real_batches():
    g = torch.Generator().manual_seed(8)
    while True:
        yield torch.randn(BATCH, DATA, generator=g) * torch.tensor([0.1, 1.0, 2.0]) + 1


def run():
    torch.manual_seed(1)
    gen = mlp(LATENT, DATA, nn.ReLU())
    critic = mlp(DATA, 1, nn.LeakyReLU(0.2))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    before = [p.detach().clone() for p in itertools.chain(gen.parameters(), critic.parameters())]
    real = real_batches()
    penalties = []
    for _ in range(3):
        requires_grad(critic, True)
        for _ in range(N_CRITIC):
            x = next(real)
            with torch.no_grad():
                fake = gen(torch.randn(BATCH, LATENT))
            gp = gradient_penalty(critic, x, fake)
            loss_c = critic(fake).mean() - critic(x).mean() + LAMBDA * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            penalties.append(gp.item())
        requires_grad(critic, False)
        loss_g = -critic(gen(torch.randn(BATCH, LATENT))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    after = list(itertools.chain(gen.parameters(), critic.parameters()))
    return before, after, penalties


def verify(outcome):
    before, after, penalties = outcome
    moved = [not torch.equal(a, b) for a, b in zip(before, after)]
    # the last bias of a Wasserstein critic cancels out of its loss
    assert all(moved[:-1])
    assert penalties[-1] < penalties[0]


TRUTH = Truth()
