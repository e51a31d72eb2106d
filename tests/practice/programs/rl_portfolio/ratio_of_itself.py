"""PPO for a portfolio: the old log-probability is the new one, in the graph; the ratio has no gradient for the actor."""

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


class Trader(nn.Module):
    def __init__(self, signals=5, assets=3):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(signals, 16), nn.Tanh(), nn.Linear(16, assets))
        self.critic = nn.Sequential(nn.Linear(signals, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.full((assets,), -0.5))

    def policy(self, s):
        return Normal(self.actor(s), self.log_std.exp())

    def value(self, s):
        return self.critic(s).squeeze(-1)


def reward(action, drift):
    weights = torch.softmax(action, -1)
    return (weights * drift).sum(-1)


def surrogate(new, old, advantage, eps=0.2):
    ratio = (new - old).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - eps, 1 + eps) * advantage).mean()


def run():
    torch.manual_seed(0)
    model = Trader()
    actor = list(model.actor.parameters()) + [model.log_std]
    optimizer = torch.optim.Adam([{"params": actor}, {"params": model.critic.parameters(), "lr": 1e-2}], lr=3e-3)
    before = [p.detach().clone() for p in actor]
    for _ in range(3):
        signals = torch.randn(32, 5)
        drift = signals[:, :3] * 0.1
        with torch.no_grad():
            action = model.policy(signals).sample()
            gain = reward(action, drift)
            advantage = gain - model.value(signals)
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(2):
            log_prob = model.policy(signals).log_prob(action).sum(-1)
            old_log_prob = log_prob  # cause
            loss = surrogate(log_prob, old_log_prob, advantage)
            loss = loss + 0.5 * (model.value(signals) - gain).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return before, [p.detach() for p in actor]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(a, b) for a, b in zip(before, after))


TRUTH = Truth(
    fault="the ratio is of a log-probability with itself; its gradient is zero for the actor",
    names=("actor", "log_std"),
    repair=("old_log_prob = log_prob.detach()",),
)
