"""Phasic policy gradient: the value head is cut from the trunk in the policy phase, and joined in the auxiliary one."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, kl_divergence

from tests.practice.truth import Truth


class Agent(nn.Module):
    def __init__(self, obs=6, actions=4, hidden=16):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.actor, self.critic, self.aux_critic = (nn.Linear(hidden, k) for k in (actions, 1, 1))

    def get_action_and_value(self, x, action=None):
        hidden = self.network(x)
        probs = Categorical(logits=self.actor(hidden))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic(hidden.detach()).squeeze(-1)

    def get_pi_value_and_aux_value(self, x):
        hidden = self.network(x)
        pi = Categorical(logits=self.actor(hidden))
        return pi, self.critic(hidden.detach()).squeeze(-1), self.aux_critic(hidden).squeeze(-1)

    def get_pi(self, x):
        return Categorical(logits=self.actor(self.network(x)))


def policy_phase(agent, optimizer, obs):
    with torch.no_grad():
        actions, logprobs, _, values = agent.get_action_and_value(obs)
    returns = obs[:, 0] * (actions == 2) + obs[:, 1]
    advantages = returns - values
    _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs, actions)
    ratio = (newlogprob - logprobs).exp()
    adv = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
    loss = pg_loss - 0.01 * entropy.mean() + 0.5 * F.mse_loss(newvalue, returns)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    return returns


def auxiliary_phase(agent, optimizer, obs, returns, beta_clone=1.0, accumulate=2):
    with torch.no_grad():
        old_logits = agent.get_pi(obs).logits.clone()
    optimizer.zero_grad()
    for i, rows in enumerate(torch.randperm(len(obs)).chunk(4), 1):
        pi, value, aux_value = agent.get_pi_value_and_aux_value(obs[rows])
        kl = kl_divergence(Categorical(logits=old_logits[rows]), pi).mean()
        joint = 0.5 * F.mse_loss(aux_value, returns[rows]) + beta_clone * kl
        loss = (joint + 0.5 * F.mse_loss(value, returns[rows])) / accumulate
        loss.backward()
        if i % accumulate == 0:
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3, eps=1e-8)
    start = {n: p.detach().clone() for n, p in agent.named_parameters()}
    for _ in range(2):
        kept = []
        for _ in range(2):
            obs = torch.randn(16, 6)
            kept.append((obs, policy_phase(agent, optimizer, obs)))
        auxiliary_phase(agent, optimizer, torch.cat([o for o, _ in kept]), torch.cat([r for _, r in kept]))
    return [n for n, p in agent.named_parameters() if torch.equal(p, start[n])]


def verify(unmoved):
    assert unmoved == [], unmoved


TRUTH = Truth()
