"""Double DQN with a target network that is synchronised every few updates."""

import copy
import random
from collections import deque

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class QNet(nn.Module):
    def __init__(self, obs, actions):
        super().__init__()
        self.fc = nn.Linear(obs, 24)
        self.value = nn.Linear(24, 1)
        self.advantage = nn.Linear(24, actions)

    def forward(self, x):
        h = F.relu(self.fc(x))
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class Learner:
    def __init__(self, obs=4, actions=3, gamma=0.97, sync_every=50):
        self.online = QNet(obs, actions)
        self.target = copy.copy(self.online)  # cause
        self.target.eval()
        self.gamma, self.sync_every, self.updates = gamma, sync_every, 0
        self.memory = deque(maxlen=500)
        self.opt = torch.optim.RMSprop(self.online.parameters(), lr=2e-3)

    def learn(self, batch_size=16):
        s, a, r, s2, done = map(torch.stack, zip(*random.sample(self.memory, batch_size)))
        with torch.no_grad():
            best = self.online(s2).argmax(-1, keepdim=True)
            y = r + self.gamma * (1 - done) * self.target(s2).gather(-1, best).squeeze(-1)
        q = self.online(s).gather(-1, a.unsqueeze(-1)).squeeze(-1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()


def run():
    torch.manual_seed(0)
    random.seed(0)
    learner = Learner()
    for _ in range(60):
        learner.memory.append(
            (
                torch.randn(4),
                torch.randint(0, 3, ()),
                torch.randn(()),
                torch.randn(4),
                torch.tensor(float(random.random() < 0.1)),
            )
        )
    probe = torch.randn(5, 4)
    first = learner.target(probe).detach()
    for _ in range(10):
        learner.learn()
    return first, learner.target(probe).detach()


TRUTH = Truth(
    fault="shallow copy: target network and online network are the same parameters",
    names=("target",),
    repair=("self.target = copy.deepcopy(self.online)",),
)


def well(out):
    assert torch.equal(*out)


verify = fails(well)
