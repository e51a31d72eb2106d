"""Reinforcement learning: TD3; the critic collects gradients from the actor's loss, and they are cleared in time."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

OBS, ACT, GAMMA, TAU, DELAY = 5, 2, 0.98, 0.1, 2


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(OBS, 24), nn.ReLU(), nn.Linear(24, ACT))

    def forward(self, obs):
        return torch.tanh(self.net(obs))


class TwinCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(OBS + ACT, 24), nn.ReLU(), nn.Linear(24, 1))
        self.q2 = nn.Sequential(nn.Linear(OBS + ACT, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return self.q1(x), self.q2(x)

    def first(self, obs, act):
        return self.q1(torch.cat([obs, act], dim=-1))


@torch.no_grad()
def soft_update(net, target):
    for p, t in zip(net.parameters(), target.parameters()):
        t.data.mul_(1 - TAU).add_(TAU * p.data)


def replay(n=32):
    return torch.randn(n, OBS), torch.randn(n, ACT).tanh(), torch.randn(n, 1), torch.randn(n, OBS), torch.zeros(n, 1)


def run():
    torch.manual_seed(0)
    actor, critic = Actor(), TwinCritic()
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_optim = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-2)
    start = {
        n: copy.deepcopy(m.state_dict())
        for n, m in (("actor", actor), ("critic", critic), ("actor_target", actor_target))
    }
    clean = []
    for step in range(1, 5):
        obs, act, rew, nxt, done = replay()
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(act)).clamp(-0.5, 0.5)
            next_act = (actor_target(nxt) + noise).clamp_(-1, 1)
            target = rew + GAMMA * (1 - done) * torch.min(*critic_target(nxt, next_act))
        q1, q2 = critic(obs, act)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        expected = torch.autograd.grad(critic_loss, critic.q1[0].weight, retain_graph=True)[0]
        critic_optim.zero_grad()
        critic_loss.backward()
        clean.append(torch.allclose(expected, critic.q1[0].weight.grad))
        critic_optim.step()

        if step % DELAY == 0:
            actor_loss = -critic.first(obs, actor(obs)).mean()  # this also reaches the critic
            actor_optim.zero_grad()
            actor_loss.backward()
            actor_optim.step()
            soft_update(critic, critic_target)
            soft_update(actor, actor_target)
    end = {"actor": actor.state_dict(), "critic": critic.state_dict(), "actor_target": actor_target.state_dict()}
    return clean, start, end


def verify(outcome):
    clean, start, end = outcome
    assert all(clean)
    for name in start:
        assert all(not torch.equal(start[name][k], end[name][k]) for k in start[name]), name


TRUTH = Truth()
