"""Primacy bias resets: the last layer is drawn anew, but its Adam moments are those of the old one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class QNetwork(nn.Module):
    def __init__(self, obs=5, actions=2):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(obs, 16), nn.ReLU())
        self.value = nn.Linear(16, actions)

    def forward(self, x):
        return self.value(self.torso(x))


class Agent:
    def __init__(self, reset_every=3):
        self.q = QNetwork()
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.reset_every = reset_every
        self.updates = 0

    def reset_head(self):
        """Nikishin et al. 2022: reinitialise the last layer and its optimizer statistics."""
        self.q.value.reset_parameters()
        for p in self.q.value.parameters():
            if p in self.optimizer.param_groups:  # cause
                self.optimizer.state.pop(p)

    def update(self, obs, action, reward):
        self.optimizer.zero_grad()
        chosen = self.q(obs).gather(1, action[:, None]).squeeze(1)
        F.smooth_l1_loss(chosen, reward).backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.reset_every == 0:
            self.reset_head()


class Replay:
    def __init__(self, seed=0):
        self.g = torch.Generator().manual_seed(seed)

    def sample(self, n=16):
        obs = torch.randn(n, 5, generator=self.g)
        action = torch.randint(0, 2, (n,), generator=self.g)
        return obs, action, obs[:, 0] * (2.0 * action - 1)


def run():
    torch.manual_seed(0)
    agent, replay = Agent(), Replay()
    for _ in range(4):
        agent.update(*replay.sample())
    state = agent.optimizer.state
    return [int(state[p]["step"]) for p in agent.q.value.parameters()]


def verify(outcome):
    # one update since the reset
    assert outcome == [4, 4]


TRUTH = Truth(
    fault="the test looks for the parameter among param_groups (dicts), so the state of the redrawn layer is never dropped",
    names=("value",),
    repair=("if p in self.optimizer.state:",),
)
