"""Distributional DQN: Polyak averaging over iterators that were made once; from the second call on nothing is left."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class QuantileNet(nn.Module):
    def __init__(self, obs=4, actions=3, quantiles=8):
        super().__init__()
        self.actions, self.quantiles = actions, quantiles
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.ReLU())
        self.head = nn.Linear(32, actions * quantiles)

    def forward(self, obs):
        return self.head(self.body(obs)).view(-1, self.actions, self.quantiles)


class Agent:
    def __init__(self, tau=0.05):
        self.online = QuantileNet()
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=5e-3)
        self.pairs = zip(self.online.parameters(), self.target.parameters())  # cause
        self.tau = tau
        self.midpoints = (torch.arange(8) + 0.5) / 8

    def loss(self, obs, act, rew, nxt):
        index = act.view(-1, 1, 1).expand(-1, 1, 8)
        theta = self.online(obs).gather(1, index).squeeze(1)
        with torch.no_grad():
            following = self.target(nxt)
            best = following.mean(2).argmax(1).view(-1, 1, 1).expand(-1, 1, 8)
            wanted = rew.unsqueeze(1) + 0.99 * following.gather(1, best).squeeze(1)
        delta = wanted.unsqueeze(1) - theta.unsqueeze(2)
        huber = torch.where(delta.abs() <= 1, 0.5 * delta.pow(2), delta.abs() - 0.5)
        weight = (self.midpoints.view(1, -1, 1) - (delta.detach() < 0).float()).abs()
        return (weight * huber).mean()

    def learn(self, batch):
        loss = self.loss(*batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.track()
        return loss.item()

    @torch.no_grad()
    def track(self):
        for p, q in self.pairs:  # also
            q.lerp_(p, self.tau)


def run(updates=6):
    torch.manual_seed(0)
    agent, targets = Agent(), []
    for _ in range(updates):
        agent.learn((torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.randn(16), torch.randn(16, 4)))
        targets.append(agent.target.head.weight.clone())
    return targets


def verify(targets):
    assert torch.equal(targets[0], targets[-1])


TRUTH = Truth(
    fault="an iterator over the parameters is used up after the first update",
    names=("target",),
    repair=("self.pairs = list(zip(self.online.parameters(), self.target.parameters()))",),
)
