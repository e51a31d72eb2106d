"""A2C: returns of shape (T,) meet values of shape (T, 1), the advantage is a T x T matrix."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self, obs=4, actions=3, hidden=24):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.shared(s)
        return Categorical(logits=self.pi(h)), self.v(h)


class DriftEnv:
    """A walk; action 0 pushes left, 2 pushes right, the middle is good."""

    def __init__(self):
        self.state = torch.randn(4)

    def step(self, action):
        self.state = 0.9 * self.state + 0.2 * (action - 1) + 0.1 * torch.randn(4)
        return self.state, -self.state.abs().mean().item()


class RolloutBuffer:
    def __init__(self):
        self.obs, self.actions, self.rewards = [], [], []

    def add(self, obs, action, reward):
        self.obs.append(obs)
        self.actions.append(action)
        self.rewards.append(reward)

    def returns(self, last_value, gamma=0.95):
        out, running = [], last_value
        for r in reversed(self.rewards):
            running = r + gamma * running
            out.insert(0, running)
        return torch.tensor(out)


def collect(env, model, steps=10):
    buffer, obs = RolloutBuffer(), env.state
    with torch.no_grad():
        for _ in range(steps):
            dist, _ = model(obs)
            action = dist.sample()
            nxt, reward = env.step(action)
            buffer.add(obs, action, reward)
            obs = nxt
        last_value = model(obs)[1].item()
    return buffer, buffer.returns(last_value)


def losses(model, buffer, returns, vf=0.5, ent=0.01):
    dist, values = model(torch.stack(buffer.obs))
    advantage = returns - values  # cause
    logp = dist.log_prob(torch.stack(buffer.actions))
    policy_loss = -(logp * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    return policy_loss + vf * value_loss - ent * dist.entropy().mean(), values, returns


def run():
    torch.manual_seed(0)
    model, env = ActorCritic(), DriftEnv()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.99, eps=1e-5)
    wrong = []
    for _ in range(3):
        buffer, returns = collect(env, model)
        loss, values, returns = losses(model, buffer, returns)
        values.retain_grad()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        expected = (values.detach().squeeze(-1) - returns) / len(returns)
        wrong.append(not torch.allclose(values.grad.squeeze(-1), expected, rtol=1e-3, atol=1e-6))
    return wrong


def verify(wrong):
    # each value is pulled to the mean of all returns instead of its own
    assert all(wrong)


TRUTH = Truth(
    fault="(T,) minus (T, 1) broadcasts: every value is compared with every return",
    names=("advantage", "values", "returns"),
    repair=("advantage = returns - values.squeeze(-1)",),
)
