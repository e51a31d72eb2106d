"""Recurrent actor-critic: the state of finished environments is set to zero in place, inside the graph."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class RecurrentPolicy(nn.Module):
    def __init__(self, obs=6, hidden=16, actions=3):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU())
        self.cell = nn.GRUCell(hidden, hidden)
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)

    def step(self, obs, state):
        state = self.cell(self.embed(obs), state)
        return Categorical(logits=self.pi(state)), self.v(state).squeeze(-1), state


class Runner:
    def __init__(self, envs=4, length=5):
        self.policy = RecurrentPolicy()
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=7e-4, alpha=0.99, eps=1e-5)
        self.state = torch.zeros(envs, 16)
        self.envs, self.length = envs, length

    def rollout(self):
        state, log_probs, values, rewards, masks = self.state, [], [], [], []
        for t in range(self.length):
            dist, value, state = self.policy.step(torch.randn(self.envs, 6), state)
            action = dist.sample()
            reward, done = torch.randn(self.envs), torch.arange(self.envs) == t % self.envs
            log_probs.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
            masks.append(1.0 - done.float())
            state[done] = 0.0  # cause
        self.state = state.detach()
        return log_probs, values, rewards, masks

    def update(self):
        log_probs, values, rewards, masks = self.rollout()
        ret, returns = torch.zeros(self.envs), []
        for reward, mask in zip(reversed(rewards), reversed(masks)):
            ret = reward + 0.99 * mask * ret
            returns.insert(0, ret)
        returns, values, log_probs = torch.stack(returns), torch.stack(values), torch.stack(log_probs)
        advantage = returns - values
        loss = -(log_probs * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    runner = Runner()
    return [runner.update() for _ in range(3)]


TRUTH = Truth(
    fault="the recurrent state is modified in place after the heads saved it",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("state",),
    repair=("state = state.masked_fill(done.unsqueeze(-1), 0.0)",),
)
