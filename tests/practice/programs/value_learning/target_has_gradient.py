"""Irrigation by Q-learning: the bootstrap target comes from the online network with its graph, so the target moves to the prediction."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class QNet(nn.Module):
    """Irrigation levels as actions."""

    def __init__(self, state=4, actions=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state, 24), nn.ReLU(), nn.Linear(24, actions))

    def forward(self, s):
        return self.net(s)


def transitions(n):
    s = torch.randn(n, 4)
    a = torch.randint(3, (n,))
    s2 = 0.8 * s + 0.2 * torch.randn(n, 4)
    return s, a, -(s[:, 0] - a.float() + 1).abs(), s2


class IrrigationAgent:
    def __init__(self, gamma=0.95):
        self.online = QNet()
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.through_next = []

    def target(self, r, s2):
        value = self.online(s2).max(1).values
        return r + self.gamma * value  # cause

    def learn(self, s, a, r, s2):
        s2 = s2.clone().requires_grad_(True)  # a probe of what the loss depends on
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, self.target(r, s2))
        self.optimizer.zero_grad()
        loss.backward()
        self.through_next.append(0.0 if s2.grad is None else s2.grad.abs().sum().item())
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    agent = IrrigationAgent()
    start = copy.deepcopy(agent.online.state_dict())
    for _ in range(4):
        agent.learn(*transitions(32))
    return agent.through_next, start


def verify(outcome):
    through_next, _ = outcome
    assert min(through_next) > 0


TRUTH = Truth(
    fault="the target is not detached: gradients flow through the value of the next state",
    names=("target", "detach"),
    repair=("return r + self.gamma * value.detach()",),
)
