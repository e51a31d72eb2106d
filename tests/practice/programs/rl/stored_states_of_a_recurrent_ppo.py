"""Recurrent PPO: the states from which the sequences start are stored with the rollout's graph."""

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class LSTMActorCritic(nn.Module):
    def __init__(self, obs=4, hidden=12, actions=2):
        super().__init__()
        self.lstm = nn.LSTM(obs, hidden)
        self.actor = nn.Linear(hidden, actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, obs, state):
        out, state = self.lstm(obs, state)
        return Categorical(logits=self.actor(out)), self.critic(out).squeeze(-1), state


class Storage:
    def __init__(self):
        self.sequences = []

    def add(self, obs, actions, log_probs, values, rewards, start):
        returns = torch.zeros_like(rewards)
        running = torch.zeros(rewards.shape[1])
        for t in reversed(range(len(rewards))):
            running = rewards[t] + 0.99 * running
            returns[t] = running
        self.sequences.append((obs, actions, log_probs.detach(), returns, (returns - values).detach(), start))

    def batches(self):
        yield from self.sequences
        self.sequences.clear()


def collect(net, storage, state, sequences=2, length=4, envs=3):
    for _ in range(sequences):
        start = state
        obs = torch.randn(length, envs, 4)
        dist, values, state = net(obs, state)  # also
        actions = dist.sample()
        storage.add(obs, actions, dist.log_prob(actions), values, torch.randn(length, envs), start)  # cause
    return tuple(s.detach() for s in state)


def run(updates=2, epochs=2):
    torch.manual_seed(0)
    net, storage = LSTMActorCritic(), Storage()
    optimizer = torch.optim.Adam(net.parameters(), lr=2.5e-4)
    state = (torch.zeros(1, 3, 12), torch.zeros(1, 3, 12))
    for _ in range(updates):
        state = collect(net, storage, state)
        batches = list(storage.batches())
        for _ in range(epochs):
            for obs, actions, old, returns, advantages, start in batches:
                dist, values, _ = net(obs, start)
                ratio = (dist.log_prob(actions) - old).exp()
                policy = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
                loss = policy + 0.5 * (values - returns).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()  # symptom
                optimizer.step()
    return net


TRUTH = Truth(
    fault="the stored start states carry the graph of the rollout",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("state",),
    repair=(
        "start = tuple(s.detach() for s in start)\n"
        "storage.add(obs, actions, dist.log_prob(actions), values, torch.randn(length, envs), start)",
    ),
)
