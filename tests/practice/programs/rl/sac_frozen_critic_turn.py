"""SAC: the critic's parameters are frozen while the actor is updated, and take gradients again after it."""

import copy

import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from tests.practice.truth import Truth


class SquashedActor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim, 16), nn.ReLU())
        self.mu = nn.Linear(16, act_dim)
        self.log_std = nn.Linear(16, act_dim)

    def forward(self, obs):
        h = self.net(obs)
        dist = Normal(self.mu(h), self.log_std(h).clamp(-20, 2).exp())
        u = dist.rsample()
        logp = dist.log_prob(u).sum(-1) - (2 * (0.6931 - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, o, a):
        x = torch.cat([o, a], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


def run():
    torch.manual_seed(0)
    actor, critic = SquashedActor(3, 2), TwinQ(3, 2)
    target = copy.deepcopy(critic)
    for p in target.parameters():
        p.requires_grad = False
    start = [copy.deepcopy(m.state_dict()) for m in (actor, critic, target)]
    pi_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    q_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
    alpha = 0.2
    for _ in range(3):
        o, a, r, o2, d = torch.randn(16, 3), torch.rand(16, 2), torch.randn(16), torch.randn(16, 3), torch.zeros(16)
        q_opt.zero_grad()
        q1, q2 = critic(o, a)
        with torch.no_grad():
            a2, logp2 = actor(o2)
            backup = r + 0.99 * (1 - d) * (torch.min(*target(o2, a2)) - alpha * logp2)
        loss_q = ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()
        loss_q.backward()
        q_opt.step()

        for p in critic.parameters():
            p.requires_grad = False
        pi_opt.zero_grad()
        pi, logp = actor(o)
        loss_pi = (alpha * logp - torch.min(*critic(o, pi))).mean()
        loss_pi.backward()
        pi_opt.step()
        for p in critic.parameters():
            p.requires_grad = True

        with torch.no_grad():
            for p, p_targ in zip(critic.parameters(), target.parameters()):
                p_targ.data.mul_(0.995)
                p_targ.data.add_(0.005 * p.data)
        print(f"q {loss_q.item():.3f} pi {loss_pi.item():.3f}")
    return start, (actor, critic, target), loss_pi.item()


TRUTH = Truth()


def verify(out):
    start, nets, last = out
    for old, net in zip(start, nets):
        assert all(not torch.equal(v, old[k]) for k, v in net.state_dict().items())
    assert all(p.grad is None for p in nets[2].parameters())
    assert last == last
