"""OpenAI evolution strategy: gradients estimated from returns, applied by Adam."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self, obs=3, act=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 8), nn.Tanh(), nn.Linear(8, act))

    def forward(self, obs):
        return self.net(obs)


def episode(policy, seed, horizon=10):
    g = torch.Generator().manual_seed(seed)
    s, total = torch.randn(3, generator=g), 0.0
    for _ in range(horizon):
        a = policy(s)
        s = 0.9 * s + 0.1 * torch.cat([a, a[:1] * a[1:]])
        total -= s.pow(2).sum().item()
    return total


class ES:
    def __init__(self, policy, sigma=0.1, pairs=6, lr=0.05):
        self.policy, self.sigma, self.pairs = policy.requires_grad_(False), sigma, pairs
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)

    @torch.no_grad()
    def generation(self, seed):
        theta = parameters_to_vector(self.policy.parameters())
        noise = torch.randn(self.pairs, theta.numel())
        scores = torch.empty(self.pairs, 2)
        for i, e in enumerate(noise):
            for j, sign in enumerate((1, -1)):
                vector_to_parameters(theta + sign * self.sigma * e, self.policy.parameters())
                scores[i, j] = episode(self.policy, seed)
        vector_to_parameters(theta, self.policy.parameters())
        ranks = scores.flatten().argsort().argsort().float().view_as(scores) / (scores.numel() - 1) - 0.5
        estimate = (ranks[:, 0] - ranks[:, 1]) @ noise / (2 * self.pairs * self.sigma)
        offset = 0
        for p in self.policy.parameters():
            p.grad = -estimate[offset : offset + p.numel()].view_as(p)
            offset += p.numel()
        self.opt.step()
        return scores.mean().item()


def run():
    torch.manual_seed(0)
    policy = Policy()
    start = parameters_to_vector(policy.parameters()).clone()
    es = ES(policy)
    returns = [es.generation(seed=7) for _ in range(6)]
    return start, parameters_to_vector(policy.parameters()), returns


TRUTH = Truth()


def verify(out):
    start, end, returns = out
    assert not torch.equal(start, end) and returns[-1] > returns[0]
