"""DQN: the target network is made with copy.copy, whose modules and parameters are the online network's."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class QNet(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, actions))

    def forward(self, x):
        return self.net(x)


class DQN:
    def __init__(self, gamma=0.9, every=10):
        self.online = QNet()
        self.target = copy.copy(self.online)  # cause
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-2)
        self.gamma, self.every, self.steps = gamma, every, 0

    def learn(self, obs, action, reward, following):
        with torch.no_grad():
            value = self.target(following).amax(1)
        q = self.online(obs).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, reward + self.gamma * value)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()


class Memory:
    def __init__(self, n=64):
        self.obs = torch.randn(n, 4)
        self.action = torch.randint(0, 3, (n,))
        self.reward = self.obs[:, 0] * (self.action - 1)
        self.following = torch.roll(self.obs, 1, 0)

    def sample(self, k=16):
        i = torch.randint(0, len(self.obs), (k,))
        return self.obs[i], self.action[i], self.reward[i], self.following[i]


def run():
    torch.manual_seed(0)
    agent, memory = DQN(), Memory()
    probe = torch.randn(5, 4)
    with torch.no_grad():
        first = agent.target(probe)
    for _ in range(3):
        agent.learn(*memory.sample())
    with torch.no_grad():
        return (agent.target(probe) - first).abs().max().item()


def verify(outcome):
    # no synchronisation has happened yet
    assert outcome > 1e-3


TRUTH = Truth(
    fault="a shallow copy of a module shares its parameters: the target network moves with the online one",
    names=("target",),
    repair=("self.target = copy.deepcopy(self.online)",),
)
