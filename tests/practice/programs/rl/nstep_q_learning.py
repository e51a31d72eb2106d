"""n-step Q-learning with one network: the bootstrap value is not detached, so the gradient runs into the target."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Dueling(nn.Module):
    def __init__(self, obs_dim=4, n_actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 16), nn.ReLU())
        self.value = nn.Linear(16, 1)
        self.advantage = nn.Linear(16, n_actions)

    def forward(self, obs):
        h = self.body(obs)
        adv = self.advantage(h)
        return self.value(h) + adv - adv.mean(1, keepdim=True)


class Agent:
    def __init__(self, n=3, gamma=0.99, eps=0.1):
        self.net = Dueling()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.n, self.gamma, self.eps = n, gamma, eps

    @torch.no_grad()
    def act(self, obs):
        greedy = self.net(obs).argmax(1)
        explore = torch.rand(len(obs)) < self.eps
        return torch.where(explore, torch.randint(0, 3, greedy.shape), greedy)

    def nstep_return(self, rewards, last_obs, done):
        ret = self.net(last_obs).max(1).values * (1 - done)  # cause
        for r in rewards.flip(0):
            ret = r + self.gamma * ret
        return ret

    def learn(self, obs, act, rewards, last_obs, done):
        q = self.net(obs).gather(1, act[:, None]).squeeze(1)
        target = self.nstep_return(rewards, last_obs, done)
        loss = nn.functional.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.opt.step()
        return target, loss.item()


def run():
    torch.manual_seed(0)
    agent = Agent()
    target, losses = None, []
    for _ in range(3):
        obs, last = torch.randn(8, 4), torch.randn(8, 4)
        target, loss = agent.learn(obs, agent.act(obs), torch.randn(agent.n, 8), last, torch.zeros(8))
        losses.append(loss)
    return target


def verify(target):
    assert target.requires_grad  # the network also learns to make the target small


TRUTH = Truth(
    fault="the TD target is not cut from the graph",
    repair=("ret = self.net(last_obs).max(1).values.detach() * (1 - done)",),
)
