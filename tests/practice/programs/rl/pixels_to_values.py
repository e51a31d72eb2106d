"""Reinforcement learning: the target network follows the heads only; its convolutions stay at their random start."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class PixelEncoder(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 6, 3, stride=2), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU(), nn.Flatten())
        self.fc = nn.Linear(6, out)

    def forward(self, frames):
        return torch.tanh(self.fc(self.conv(frames)))


class QNetwork(nn.Module):
    def __init__(self, actions=3):
        super().__init__()
        self.features = PixelEncoder()
        self.value, self.advantage = nn.Linear(16, 1), nn.Linear(16, actions)

    def forward(self, frames):
        h = self.features(frames)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(1, keepdim=True)

    def heads(self):
        return [*self.value.parameters(), *self.advantage.parameters()]


class DoubleDQN:
    def __init__(self, tau=0.2, gamma=0.99, lr=1e-2):
        self.online = QNetwork()
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.tau, self.gamma = tau, gamma
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr)

    def learn(self, frames, action, reward, following, done):
        with torch.no_grad():
            best = self.online(following).argmax(1, keepdim=True)
            backup = reward + self.gamma * (1 - done) * self.target(following).gather(1, best).squeeze(1)
        q = self.online(frames).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, backup)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10)
        self.optimizer.step()
        self.follow()
        return loss.item()

    @torch.no_grad()
    def follow(self):
        for p, t in zip(self.online.heads(), self.target.heads()):  # cause
            t.lerp_(p, self.tau)  # also


def replay(n=8):
    frames = lambda: torch.rand(n, 1, 7, 7)
    return frames(), torch.randint(0, 3, (n,)), torch.randn(n), frames(), (torch.rand(n) < 0.1).float()


def run():
    torch.manual_seed(0)
    agent = DoubleDQN()
    start = copy.deepcopy(agent.target.state_dict())
    for _ in range(4):
        agent.learn(*replay())
    online, end = agent.online.state_dict(), agent.target.state_dict()
    return {k: (torch.equal(start[k], end[k]), torch.equal(start[k], online[k])) for k in start}


def verify(outcome):
    for name, (target_same, online_same) in outcome.items():
        assert not online_same
        assert target_same == name.startswith("features"), name


TRUTH = Truth(
    fault="follow() updates value and advantage of the target, but not its features",
    names=("features", "target"),
    repair=("for p, t in zip(self.online.parameters(), self.target.parameters()):",),
)
