"""Policy gradient with a compiled policy: all entries of the rollout are the one tensor that the environment reuses."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class PointEnv:
    def __init__(self, count=6):
        self.state = torch.randn(count, 3)

    def step(self, action):
        self.state.mul_(0.9).add_(0.3 * (action.float().unsqueeze(-1) - 0.5))  # also
        return self.state, -self.state.square().sum(-1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.action, self.value = nn.Linear(3, 16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, obs):
        h = torch.tanh(self.body(obs))
        return self.action(h), self.value(h).squeeze(-1)


def collect(env, act, length):
    observations, actions, rewards = [], [], []
    obs = env.state
    for _ in range(length):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=act(obs)[0]).sample()
        observations.append(obs)  # cause
        obs, reward = env.step(action)
        actions.append(action)
        rewards.append(reward)
    return torch.stack(observations), torch.stack(actions), torch.stack(rewards)


def run():
    torch.manual_seed(0)
    policy = Policy()
    act = torch.compile(policy, backend=BACKEND)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    env = PointEnv()
    spreads = []
    for _ in range(3):
        obs, actions, rewards = collect(env, act, 5)
        logits, value = act(obs.flatten(0, 1))
        returns = rewards.flip(0).cumsum(0).flip(0).flatten()
        logp = torch.log_softmax(logits, -1).gather(-1, actions.flatten().unsqueeze(-1)).squeeze(-1)
        advantage = returns - value
        loss = -(logp * advantage.detach()).mean() + advantage.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        spreads.append(obs.std(0).max().item())
    return spreads


def verify(outcome):
    assert all(spread < 1e-6 for spread in outcome)


TRUTH = Truth(
    fault="the environment writes its state in place, so every stored observation becomes the last one",
    names=("observations", "state"),
    repair=("observations.append(obs.clone())",),
)
