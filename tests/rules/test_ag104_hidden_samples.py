"""AG104: a sample that lets no gradient through, where another term of the loss hides it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import (
    Bernoulli,
    Categorical,
    Gamma,
    Independent,
    Laplace,
    MultivariateNormal,
    Normal,
    TanhTransform,
    TransformedDistribution,
    kl_divergence,
)

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 6, generator=torch.Generator().manual_seed(1))


class Autoencoder(nn.Module):
    """A variational autoencoder; ``draw`` takes the latent from its distribution."""

    def __init__(self, family, draw):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(2, 6)
        self.family, self.draw = family, draw

    def forward(self, x):
        mean, scale = self.encoder(x).chunk(2, dim=-1)
        latent = self.family(mean, scale.exp())
        return self.decoder(self.draw(latent)), kl_divergence(latent, self.family(0.0, 1.0)).sum(-1).mean()


def vae(family, draw, score=F.mse_loss):
    def program():
        model = Autoencoder(family, draw)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(2):
            seen, divergence = model(X)
            trained(optimizer, score(seen, X) + 0.1 * divergence)

    return program


def drawn(latent):
    return latent.sample()  # the fault


def likelihood(seen, x):
    return -Normal(seen, 1.0).log_prob(x).mean()


@pytest.mark.parametrize("family", [Normal, Laplace])
@pytest.mark.parametrize("score", [F.mse_loss, likelihood])
def test_the_divergence_hides_that_a_sample_lets_nothing_through(family, score):
    """The encoder gets gradients, of the divergence alone: the draw is named, and rsample() advised."""
    found = diagnosed(vae(family, drawn, score), "AG104", "# the fault", "encoder", severity="warning", where=drawn)
    assert "rsample()" in found.fix


def test_samples_that_are_meant():
    """Reparametrised samples, policies trained through log_prob, discrete choices and plain noise are no fault."""

    def policy():
        actor, critic = nn.Linear(6, 2), nn.Linear(7, 1)
        optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.1)
        for _ in range(2):
            mean, scale = actor(X).chunk(2, dim=-1)
            choice = Normal(mean, scale.exp())
            action = choice.sample()
            value = critic(torch.cat([X, action], dim=-1))
            reward = -action.pow(2)
            loss = -(choice.log_prob(action.clamp(-5, 5)) * (reward - value.detach())).mean()
            trained(optimizer, loss + (value - reward).pow(2).mean())

    def discrete():
        body, words = nn.Linear(6, 4), nn.Embedding(4, 3)
        optimizer = torch.optim.Adam([*body.parameters(), *words.parameters()], lr=0.1)
        for _ in range(2):
            choice = Categorical(logits=body(X))
            kept = Bernoulli(logits=body(X)).sample()
            trained(optimizer, words(choice.sample()).pow(2).mean() + (kept[:, 0] * 0 - choice.entropy()).mean())

    def noisy():
        net = nn.Linear(6, 1)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X + Normal(0.0, 0.1).sample(X.shape)).pow(2).mean())

    calm(vae(Normal, lambda latent: latent.rsample()), policy, discrete, noisy)


FAMILIES = {
    "normal": Normal,
    "laplace": Laplace,
    "independent": lambda mean, scale: Independent(Normal(mean, scale), 1),
    "multivariate": lambda mean, scale: MultivariateNormal(mean, scale_tril=torch.diag(scale)),
    "squashed": lambda mean, scale: TransformedDistribution(Normal(mean, scale), [TanhTransform(cache_size=1)]),
    "gamma": lambda mean, scale: Gamma(mean.exp(), scale),
}


@pytest.mark.parametrize("made", FAMILIES.values(), ids=FAMILIES)
def test_a_policy_whose_scale_is_a_parameter(made):
    """The log probability meets the mean first and the scale later: both are trained through it."""

    def program():
        mean, log_scale = nn.Linear(6, 2), nn.Parameter(torch.zeros(2))
        optimizer = torch.optim.Adam([*mean.parameters(), log_scale], lr=0.1)
        for _ in range(2):
            choice = made(mean(X), log_scale.exp())
            action = choice.sample()
            rewards = [-each.pow(2).sum().item() for each in action]
            probability = choice.log_prob(action)
            advantage = torch.tensor(rewards)
            if probability.dim() > 1:
                probability = probability.sum(-1)
            trained(optimizer, -(probability * (advantage - advantage.mean())).mean())

    calm(program)
