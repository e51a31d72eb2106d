"""A recurrent state space model with KL balancing: the stop-gradient is written with `detach_()`."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from tests.practice.truth import Truth


def stopped(state):
    return {k: v.detach_() for k, v in state.items()}  # cause


class RSSM(nn.Module):
    def __init__(self, stoch=4, deter=12, act=2, embed=10):
        super().__init__()
        self.stoch, self.deter = stoch, deter
        self.cell = nn.GRUCell(stoch + act, deter)
        self.prior = nn.Sequential(nn.Linear(deter, 16), nn.ELU(), nn.Linear(16, 2 * stoch))
        self.posterior = nn.Sequential(nn.Linear(deter + embed, 16), nn.ELU(), nn.Linear(16, 2 * stoch))

    def _state(self, stats):
        mean, std = stats.chunk(2, -1)
        return {"mean": mean + 0, "std": nn.functional.softplus(std) + 0.1}

    def observe(self, embed, action):
        h = embed.new_zeros(len(embed), self.deter)
        z = embed.new_zeros(len(embed), self.stoch)
        posts, priors, features = [], [], []
        for t in range(embed.shape[1]):
            h = self.cell(torch.cat([z, action[:, t]], -1), h)
            prior = self._state(self.prior(h))
            post = self._state(self.posterior(torch.cat([h, embed[:, t]], -1)))
            z = post["mean"] + post["std"] * torch.randn_like(post["std"])
            posts.append(post)
            priors.append(prior)
            features.append(torch.cat([h, z], -1))
        return posts, priors, torch.stack(features, 1)


def normal(state):
    return Normal(state["mean"], state["std"])


def balanced_kl(posts, priors, mix=0.8):
    total = 0.0
    for post, prior in zip(posts, priors):
        left = kl_divergence(normal(stopped(post)), normal(prior)).sum(-1)
        right = kl_divergence(normal(post), normal(stopped(prior))).sum(-1)
        total = total + (mix * left + (1 - mix) * right).mean()
    return total / len(posts)


def run(steps=3):
    torch.manual_seed(0)
    encoder, model, decoder = nn.Linear(6, 10), RSSM(), nn.Linear(16, 6)
    modules = nn.ModuleList([encoder, model, decoder])
    optimizer = torch.optim.Adam(modules.parameters(), lr=6e-4, eps=1e-5)
    for _ in range(steps):
        obs, act = torch.randn(5, 4, 6), torch.randn(5, 4, 2)
        posts, priors, features = model.observe(encoder(obs), act)
        divergence = balanced_kl(posts, priors)
        loss = (decoder(features) - obs).pow(2).mean() + divergence
        optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(modules.parameters(), 100.0)
        optimizer.step()
    return loss


TRUTH = Truth(
    fault="detach_() cuts the states themselves off, not a copy for the divergence",
    raises="Trying to use a saved tensor that has been detached in-place",
    names=("detach_",),
    repair=("return {k: v.detach() for k, v in state.items()}",),
)
