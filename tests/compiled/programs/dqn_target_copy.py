"""Reinforcement learning: a Q net that compiles its own feature method, and a frozen copy of it for the targets."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the deep copy keeps the compiled method bound to the online net, so the target follows every online step",
    names=("target", "deepcopy", "features", "online"),
    repair=("target = Q(); target.load_state_dict(online.state_dict())",),
)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 32), nn.Linear(32, 32)
        self.value = nn.Linear(32, 2)
        self.features = torch.compile(self._features, backend=BACKEND)  # also

    def _features(self, obs):
        return torch.relu(self.second(torch.relu(self.first(obs))))

    def forward(self, obs):
        return self.value(self.features(obs))


def setup():
    torch.manual_seed(0)


def run():
    online = Q()
    target = copy.deepcopy(online)  # cause
    target.requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
    probe = torch.randn(8, 4)
    with torch.no_grad():
        before = target(probe)
    for _ in range(5):
        obs, after = torch.randn(16, 4), torch.randn(16, 4)
        action, reward = torch.randint(2, (16, 1)), torch.randn(16)
        with torch.no_grad():
            goal = reward + 0.9 * target(after).amax(-1)  # symptom
        loss = nn.functional.smooth_l1_loss(online(obs).gather(1, action)[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return before, target(probe)


def verify(outcome):
    before, after = outcome
    assert not torch.allclose(before, after)
