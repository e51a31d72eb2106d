"""Curiosity: bonus rewards keep the graph of the forward model; the policy loss trains it."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

from tests.practice.truth import Truth


class ICM(nn.Module):
    def __init__(self, obs=4, acts=2, dim=6):
        super().__init__()
        self.acts = acts
        self.encoder = nn.Sequential(nn.Linear(obs, dim), nn.ELU())
        self.forward_model = nn.Linear(dim + acts, dim)
        self.inverse = nn.Linear(2 * dim, acts)

    def forward(self, s, s2, a):
        f, f2 = self.encoder(s), self.encoder(s2)
        pred = self.forward_model(torch.cat([f, F.one_hot(a, self.acts).float()], -1))
        bonus = 0.5 * (pred - f2).pow(2).mean(-1)
        return bonus, F.cross_entropy(self.inverse(torch.cat([f, f2], -1)), a)


def run():
    torch.manual_seed(0)
    policy, icm = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)), ICM()
    optimizer = torch.optim.Adam([*policy.parameters(), *icm.parameters()], lr=1e-3)
    for _ in range(3):
        s, s2 = torch.randn(8, 4), torch.randn(8, 4)
        dist = Categorical(logits=policy(s))
        a = dist.sample()
        bonus, inverse_loss = icm(s, s2, a)
        reward = torch.randn(8) + 0.1 * bonus  # cause
        policy_loss = -(dist.log_prob(a) * reward).mean()  # also
        loss = policy_loss + 0.8 * inverse_loss + 0.2 * bonus.mean()
        optimizer.zero_grad()
        (g,) = torch.autograd.grad(policy_loss, icm.forward_model.weight, retain_graph=True, allow_unused=True)
        loss.backward()
        optimizer.step()
    return g


TRUTH = Truth(
    fault="the policy's loss sends gradient into the reward",
    names=("reward",),
    repair=("reward = torch.randn(8) + 0.1 * bonus.detach()",),
)


def verify(g):
    assert g is not None
