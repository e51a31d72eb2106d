"""JAX to PyTorch: `target_params = online_params` is a snapshot in JAX; a state_dict() is a window on the living weights."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class QNetwork(nn.Module):
    def __init__(self, observations=5, actions=3):
        super().__init__()
        self.torso = nn.Linear(observations, 16)
        self.head = nn.Linear(16, actions)

    def forward(self, x):
        return self.head(F.relu(self.torso(x)))


class Learner:
    def __init__(self, network, period=10, discount=0.97):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
        self.discount = discount
        self.period = period
        self.steps = 0
        self.sync_target()

    def sync_target(self):
        self.target_params = self.network.state_dict()  # cause

    def loss(self, batch):
        observation, action, reward, following = batch
        with torch.no_grad():
            bootstrap = functional_call(self.network, self.target_params, (following,)).max(dim=1).values
        value = self.network(observation).gather(1, action[:, None]).squeeze(1)
        return F.smooth_l1_loss(value, reward + self.discount * bootstrap)

    def update(self, batch):
        self.optimizer.zero_grad()
        self.loss(batch).backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.period == 0:
            self.sync_target()


def replay_sample(size=12):
    return torch.randn(size, 5), torch.randint(0, 3, (size,)), torch.randn(size), torch.randn(size, 5)


def run():
    torch.manual_seed(0)
    learner = Learner(QNetwork())
    before = {name: value.clone() for name, value in learner.target_params.items()}
    for _ in range(4):
        learner.update(replay_sample())
    return before, learner.target_params


def verify(outcome):
    before, target = outcome
    assert all(not torch.equal(before[name], target[name]) for name in before)


TRUTH = Truth(
    fault="the target's parameters share memory with the online network's and move at every step",
    names=("state_dict",),
    repair=("self.target_params = copy.deepcopy(self.network.state_dict())",),
)
