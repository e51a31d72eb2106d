"""The rollout's actions were drawn without grad; the advantage is normalised, and keeps the value head's graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.mu, self.v = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x).tanh()
        return torch.distributions.Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


def run():
    torch.manual_seed(0)
    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), 1e-3)
    same = []
    for _ in range(2):
        obs, ret = torch.randn(16, 3), torch.randn(16)
        with torch.no_grad():
            action = agent(obs)[0].sample()
        dist, value = agent(obs)
        adv = ret - value
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        log_prob = dist.log_prob(action).sum(-1)
        critic_loss = (ret - value).pow(2).mean()
        alone = torch.autograd.grad(critic_loss, agent.v.weight, retain_graph=True)[0]
        loss = -(adv * log_prob).mean() + critic_loss  # cause
        opt.zero_grad()
        loss.backward()
        same.append(torch.allclose(alone, agent.v.weight.grad))
        opt.step()
    return same


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the value head learns from the policy's loss",
    names=("adv",),
    repair=("loss = -(adv.detach() * log_prob).mean() + critic_loss",),
)
