"""RND: a random net that never learns is the target, and its error is a reward without a gradient."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class RunningMeanStd(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("var", torch.ones((), dtype=torch.float64))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))

    @torch.no_grad()
    def update(self, x):
        x = x.double()
        delta, n = x.mean() - self.mean, x.numel()
        total = self.count + n
        self.mean += delta * n / total
        self.var.copy_((self.var * self.count + x.var(unbiased=False) * n + delta**2 * self.count * n / total) / total)
        self.count += n


class RND(nn.Module):
    def __init__(self, obs):
        super().__init__()
        self.target = nn.Sequential(nn.Linear(obs, 16), nn.LeakyReLU(), nn.Linear(16, 8))
        self.predictor = nn.Sequential(
            nn.Linear(obs, 16), nn.LeakyReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8)
        )
        for p in self.target.parameters():
            p.requires_grad_(False)

    def forward(self, obs):
        return (self.predictor(obs) - self.target(obs).detach()).pow(2).mean(-1)


def run():
    torch.manual_seed(0)
    policy, rnd, scale = nn.Linear(4, 3), RND(4), RunningMeanStd()
    optimizer = torch.optim.Adam([*policy.parameters(), *rnd.predictor.parameters()], lr=1e-3)
    start = rnd.target[0].weight.clone()
    bonus_log = []
    for _ in range(3):
        obs = torch.randn(32, 4)
        with torch.no_grad():
            bonus = rnd(obs)
        scale.update(bonus)
        bonus = bonus / scale.var.sqrt().float()
        dist = Categorical(logits=policy(obs))
        action = dist.sample()
        reward = (action == 0).float() + 0.5 * bonus
        mask = (torch.rand(32) < 0.25).float()
        mask[0] = 1.0
        aux = (rnd(obs) * mask).sum() / mask.sum()
        loss = -(dist.log_prob(action) * (reward - reward.mean())).mean() + aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bonus_log.append(bonus.mean().item())
    return start, rnd, policy, bonus_log


TRUTH = Truth()


def verify(out):
    start, rnd, policy, bonus_log = out
    assert torch.equal(start, rnd.target[0].weight)
    assert all(p.grad.abs().sum() > 0 for p in rnd.predictor.parameters())
    assert all(b > 0 for b in bonus_log)
