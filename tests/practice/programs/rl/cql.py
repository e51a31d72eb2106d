"""CQL: the values of the sampled actions are computed without gradient, so only the data term is raised."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class Q(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1)).squeeze(-1)


@torch.no_grad()
def sample_actions(policy, obs, n):
    mean = policy(obs)
    random = torch.rand(n, *mean.shape) * 2 - 1
    current = (mean + 0.1 * torch.randn(n, *mean.shape)).clamp(-1, 1)
    return torch.cat([random, current])


@torch.no_grad()  # cause
def q_of_samples(q, policy, obs, n=5):
    acts = sample_actions(policy, obs, n)
    return q(obs.expand(acts.shape[0], *obs.shape), acts)


def run():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
    q = Q()
    q_target = copy.deepcopy(q).requires_grad_(False)
    q_opt = torch.optim.Adam(q.parameters(), lr=3e-4)
    alpha = 5.0
    ood = None
    for _ in range(3):
        obs, act, rew, nxt = torch.randn(8, 4), torch.rand(8, 2) * 2 - 1, torch.randn(8), torch.randn(8, 4)
        with torch.no_grad():
            y = rew + 0.99 * q_target(nxt, policy(nxt))
        q_data = q(obs, act)
        ood = torch.logsumexp(q_of_samples(q, policy, obs), 0)  # also
        penalty = (ood - q_data).mean()
        loss = nn.functional.mse_loss(q_data, y) + alpha * penalty
        q_opt.zero_grad()
        loss.backward()
        q_opt.step()
        with torch.no_grad():
            for p, tp in zip(q.parameters(), q_target.parameters()):
                tp.mul_(0.995).add_(p, alpha=0.005)
    return ood


def verify(ood):
    assert not ood.requires_grad  # nothing pushes the values of unseen actions down


TRUTH = Truth(
    minor=True,  # so are the old log-probabilities of a KL penalty, on purpose
    fault="the conservative penalty pushes nothing down: no_grad around the Q values of sampled actions",
    names=("q_of_samples",),
    repair=("",),
)
