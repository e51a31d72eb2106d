"""Reinforcement learning: PPO adds the values to the advantages in place, so that the policy learns from returns."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

from tests.practice.truth import Truth


def layer_init(layer, std=2**0.5, bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class VecEnv:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.s = torch.randn(self.n, 4) * 0.1
        return self.s

    def step(self, action):
        self.s = self.s * 0.95 + 0.1 * (action.float()[:, None] - 0.5) + 0.02 * torch.randn_like(self.s)
        done = (self.s.abs().max(1).values > 1).float()
        self.s = torch.where(done[:, None] > 0, torch.zeros_like(self.s), self.s)
        return self.s, 3.0 - self.s.abs().sum(1), done


class Agent(nn.Module):
    def __init__(self, obs=4, actions=2):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0))
        self.actor = nn.Sequential(
            layer_init(nn.Linear(obs, 16)), nn.Tanh(), layer_init(nn.Linear(16, actions), std=0.01)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def gae(rewards, values, dones, next_value, next_done, gamma=0.99, gae_lambda=0.95):
    advantages = torch.zeros_like(rewards)
    lastgaelam = 0
    num_steps = len(rewards)
    for t in reversed(range(num_steps)):
        nextnonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
        nextvalues = next_value if t == num_steps - 1 else values[t + 1]
        delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
        advantages[t] = lastgaelam = delta + gamma * gae_lambda * nextnonterminal * lastgaelam
    returns = advantages
    returns += values  # cause
    return advantages, returns


def run(num_steps=8, num_envs=3, update_epochs=2, minibatch_size=12, clip_coef=0.2, ent_coef=0.01, vf_coef=0.5):
    torch.manual_seed(1)
    envs, agent = VecEnv(num_envs), Agent()
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    obs = torch.zeros(num_steps, num_envs, 4)
    actions, logprobs, rewards, dones, values = (torch.zeros(num_steps, num_envs) for _ in range(5))
    next_obs, next_done, gaps = envs.reset(), torch.zeros(num_envs), []
    for iteration in range(2):
        optimizer.param_groups[0]["lr"] = (1.0 - iteration / 2) * 2.5e-3
        for step in range(num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step], logprobs[step] = action, logprob
            next_obs, rewards[step], next_done = envs.step(action)
        with torch.no_grad():
            next_value = agent.get_value(next_obs).flatten()
            advantages, returns = gae(rewards, values, dones, next_value, next_done)
            gaps.append(float((returns - advantages - values).abs().max()))
        b_obs, b_actions, b_logprobs = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
        for _ in range(update_epochs):
            for mb_inds in torch.randperm(num_steps * num_envs).split(minibatch_size):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb_inds], b_actions.long()[mb_inds])
                ratio = (newlogprob - b_logprobs[mb_inds]).exp()
                mb_advantages = b_advantages[mb_inds]
                mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
                pg_loss = torch.max(
                    -mb_advantages * ratio, -mb_advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
                ).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb_inds]) ** 2).mean()
                loss = pg_loss - ent_coef * entropy.mean() + v_loss * vf_coef
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return gaps


def verify(gaps):
    assert min(gaps) > 1e-3


TRUTH = Truth(
    fault="returns is the same tensor as advantages, += values changes both",
    names=("advantages",),
    values=True,
    repair=("returns = returns + values",),
)
