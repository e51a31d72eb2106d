"""Quantile Q-learning without target network: the bootstrap value keeps its graph and is trained towards the estimate."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class QuantileNet(nn.Module):
    def __init__(self, obs=4, actions=3, quantiles=5, hidden=24):
        super().__init__()
        self.actions, self.quantiles = actions, quantiles
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, actions * quantiles)

    def forward(self, s):
        return self.out(self.body(s)).view(-1, self.actions, self.quantiles)


class StickWorld:
    """Balance a stick: three pushes, two noisy angles."""

    def __init__(self):
        self.s = torch.zeros(4)

    def step(self, a):
        force = float(a - 1)
        kick = torch.tensor([self.s[1] * 0.1, force * 0.3 + self.s[2] * 0.2, self.s[3] * 0.1, -force * 0.2])
        self.s = (self.s + kick + 0.05 * torch.randn(4)).clamp(-2, 2)
        return self.s.clone(), 1.0 - self.s[2].abs().item()


def huber_quantile(pred, target, tau):
    delta = target.unsqueeze(1) - pred.unsqueeze(2)
    weight = (tau.view(1, -1, 1) - (delta.detach() < 0).float()).abs()
    return (weight * F.huber_loss(delta, torch.zeros_like(delta), reduction="none")).sum(1).mean()


class Agent:
    def __init__(self, gamma=0.95, lr=1e-3):
        self.net, self.gamma = QuantileNet(), gamma
        self.tau = (torch.arange(5) + 0.5) / 5
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)

    @torch.no_grad()
    def act(self, s, eps=0.3):
        if torch.rand(()) < eps:
            return torch.randint(0, 3, ()).item()
        return self.net(s.unsqueeze(0)).mean(-1).argmax().item()

    def bootstrap(self, r, s2):
        nxt = self.net(s2)
        best = nxt.mean(-1).argmax(1)
        return r.unsqueeze(1) + self.gamma * nxt[torch.arange(len(r)), best]  # cause

    def learn(self, s, a, r, s2):
        target = self.bootstrap(r, s2)
        pred = self.net(s)[torch.arange(len(a)), a]
        loss = huber_quantile(pred, target, self.tau)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return target


def run():
    torch.manual_seed(0)
    agent, world = Agent(), StickWorld()
    targets = []
    s = world.s.clone()
    for _ in range(3):
        steps = []
        for _ in range(12):
            a = agent.act(s)
            s2, r = world.step(a)
            steps.append((s, torch.tensor(a), torch.tensor(r), s2))
            s = s2
        targets.append(agent.learn(*(torch.stack(column) for column in zip(*steps))))
    return targets


def verify(targets):
    assert all(t.requires_grad for t in targets)


TRUTH = Truth(
    fault="the bootstrap target is not detached: the loss also moves the next state's value towards the prediction",
    names=("target", "bootstrap"),
    repair=("return r.unsqueeze(1) + self.gamma * nxt[torch.arange(len(r)), best].detach()",),
)
