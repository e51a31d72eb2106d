"""WGAN-GP: the gradient of the interpolates is taken without create_graph, so the penalty trains nothing."""

import torch
from torch import autograd, nn

from tests.practice.truth import Truth

LAMBDA = 10
CRITIC_ITERS = 2


def make_net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, o))


def gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = netD(interpolates)
    gradients = autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones_like(scores),
        retain_graph=True,  # cause
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def run():
    torch.manual_seed(0)
    netG, netD = make_net(2, 2), make_net(2, 1)
    optG = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.0, 0.9))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-4, betas=(0.0, 0.9))
    gp, costs = None, []
    for _ in range(2):
        for _critic in range(CRITIC_ITERS):
            real = torch.randn(16, 2) + 2
            with torch.no_grad():
                fake = netG(torch.randn(16, 2))
            gp = gradient_penalty(netD, real, fake)
            wasserstein = netD(fake).mean() - netD(real).mean()
            optD.zero_grad()
            (wasserstein + gp).backward()
            optD.step()
            costs.append((wasserstein.item(), gp.item()))
        for p in netD.parameters():
            p.requires_grad_(False)
        optG.zero_grad()
        (-netD(netG(torch.randn(16, 2))).mean()).backward()
        optG.step()
        for p in netD.parameters():
            p.requires_grad_(True)
    return gp


def verify(gp):
    assert not gp.requires_grad


TRUTH = Truth(
    fault="the gradient penalty is a constant: create_graph is missing",
    names=("create_graph",),
    repair=("create_graph=True,",),
)
