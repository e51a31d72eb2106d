"""DQN: the target network is the policy network itself."""

import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, s):
        return self.layers(s)


class Agent:
    def __init__(self):
        self.policy_net = QNet()
        self.target_net = self.policy_net  # cause
        self.target_net.eval()  # also
        self.optimizer = torch.optim.AdamW(self.policy_net.parameters(), lr=1e-3)
        self.memory = deque(maxlen=100)

    def learn(self):
        s, a, r, s2 = (torch.stack(x) for x in zip(*random.sample(self.memory, 8)))
        q = self.policy_net(s).gather(1, a)
        with torch.no_grad():
            target = r + 0.99 * self.target_net(s2).max(1, keepdim=True).values
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()

    def sync(self):
        self.target_net.load_state_dict(self.policy_net.state_dict())


def run():
    torch.manual_seed(0)
    random.seed(0)
    agent = Agent()
    for _ in range(16):
        agent.memory.append((torch.randn(3), torch.randint(2, (1,)), torch.randn(1), torch.randn(3)))
    before = agent.target_net.layers[0].weight.detach().clone()
    for _ in range(3):
        agent.learn()
    moved = not torch.equal(before, agent.target_net.layers[0].weight)
    agent.sync()
    return moved


TRUTH = Truth(
    fault="the target network is no copy",
    repair=("self.target_net = QNet(); self.target_net.load_state_dict(self.policy_net.state_dict())",),
)


def verify(moved):
    assert moved
