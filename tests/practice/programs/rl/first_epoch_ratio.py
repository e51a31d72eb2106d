"""Reinforcement learning: the log-probabilities of the rollout keep their graph, and PPO's ratio has no gradient at all."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


@dataclass
class Config:
    envs: int = 4
    horizon: int = 6
    obs: int = 5
    actions: int = 3
    clip: float = 0.2
    gamma: float = 0.95
    vf: float = 0.5
    lr: float = 1e-2
    updates: int = 3


class PointEnv:
    """Vectorised toy: the reward is high where the action matches the sign of the first feature."""

    def __init__(self, cfg):
        self.cfg = cfg
        self.state = torch.randn(cfg.envs, cfg.obs)

    def step(self, action):
        reward = (action == (self.state[:, 0] > 0).long()).float()
        self.state = torch.randn_like(self.state)
        return self.state, reward


class Agent(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(cfg.obs, 24), nn.Tanh(), nn.Linear(24, cfg.actions))
        self.critic = nn.Sequential(nn.Linear(cfg.obs, 24), nn.Tanh(), nn.Linear(24, 1))

    def act(self, obs, action=None):
        dist = Categorical(logits=self.actor(obs))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(obs).squeeze(-1)


def rollout(agent, env, cfg):
    memory = {k: [] for k in ("obs", "actions", "logprobs", "rewards", "values")}
    obs = env.state
    for _ in range(cfg.horizon):
        action, logprob, _, value = agent.act(obs)  # also
        memory["obs"].append(obs)
        memory["actions"].append(action)
        memory["logprobs"].append(logprob)  # cause
        memory["values"].append(value.detach())
        obs, reward = env.step(action)
        memory["rewards"].append(reward)
    returns, running = [], torch.zeros(cfg.envs)
    for reward in reversed(memory["rewards"]):
        running = reward + cfg.gamma * running
        returns.insert(0, running)
    batch = {k: torch.stack(v).flatten(0, 1) for k, v in memory.items()}
    batch["returns"] = torch.stack(returns).flatten()
    return batch


def update(agent, optimizer, batch, cfg):
    advantage = batch["returns"] - batch["values"]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    _, logprob, _, value = agent.act(batch["obs"], batch["actions"])
    ratio = (logprob - batch["logprobs"]).exp()
    surrogate = torch.min(ratio * advantage, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * advantage)
    loss = -surrogate.mean() + cfg.vf * (value - batch["returns"]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    grads = {n: p.grad.abs().max().item() for n, p in agent.named_parameters()}
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    return grads


def run():
    torch.manual_seed(3)
    cfg = Config()
    agent, env = Agent(cfg), PointEnv(cfg)
    optimizer = torch.optim.Adam(agent.parameters(), lr=cfg.lr, eps=1e-5)
    return [update(agent, optimizer, rollout(agent, env, cfg), cfg) for _ in range(cfg.updates)]


def verify(outcome):
    for grads in outcome:
        assert max(g for n, g in grads.items() if n.startswith("actor")) < 1e-6
        assert grads["critic.0.weight"] > 1e-4


TRUTH = Truth(
    fault="the stored log-probabilities are not detached: the gradients of the new and the old ones cancel and the actor does not learn",
    names=("actor", "logprobs"),
    repair=('memory["logprobs"].append(logprob.detach())',),
)
