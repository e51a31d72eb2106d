"""Reinforcement learning: SAC in the manner of Spinning Up, critics frozen while the policy learns; healthy."""
import copy
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def mlp(sizes, activation=nn.ReLU, output_activation=nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        act = activation if j < len(sizes) - 2 else output_activation
        layers += [nn.Linear(sizes[j], sizes[j + 1]), act()]
    return nn.Sequential(*layers)


class SquashedGaussianMLPActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.net = mlp([obs_dim, hidden], output_activation=nn.ReLU)
        self.mu_layer = nn.Linear(hidden, act_dim)
        self.log_std_layer = nn.Linear(hidden, act_dim)

    def forward(self, obs):
        h = self.net(obs)
        std = torch.exp(torch.clamp(self.log_std_layer(h), -20, 2))
        dist = torch.distributions.Normal(self.mu_layer(h), std)
        u = dist.rsample()
        logp = dist.log_prob(u).sum(-1) - (2 * (torch.log(torch.tensor(2.0)) - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2, hidden=16):
        super().__init__()
        self.pi = SquashedGaussianMLPActor(obs_dim, act_dim, hidden)
        self.q1 = mlp([obs_dim + act_dim, hidden, 1])
        self.q2 = mlp([obs_dim + act_dim, hidden, 1])


def q(net, o, a):
    return net(torch.cat([o, a], -1)).squeeze(-1)


class SAC:
    def __init__(self, gamma=0.99, polyak=0.9):
        self.ac = ActorCritic()
        self.ac_targ = copy.deepcopy(self.ac)
        for p in self.ac_targ.parameters():
            p.requires_grad = False
        self.q_params = list(itertools.chain(self.ac.q1.parameters(), self.ac.q2.parameters()))
        self.pi_optimizer = torch.optim.Adam(self.ac.pi.parameters(), lr=1e-2)
        self.q_optimizer = torch.optim.Adam(self.q_params, lr=1e-2)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.a_optimizer = torch.optim.Adam([self.log_alpha], lr=1e-2)
        self.gamma, self.polyak = gamma, polyak

    def update(self, o, a, r, o2, d):
        self.q_optimizer.zero_grad()
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            a2, logp_a2 = self.ac.pi(o2)
            q_targ = torch.min(q(self.ac_targ.q1, o2, a2), q(self.ac_targ.q2, o2, a2))
            backup = r + self.gamma * (1 - d) * (q_targ - alpha * logp_a2)
        loss_q = ((q(self.ac.q1, o, a) - backup) ** 2).mean() + ((q(self.ac.q2, o, a) - backup) ** 2).mean()
        loss_q.backward()
        self.q_optimizer.step()

        for p in self.q_params:
            p.requires_grad = False
        self.pi_optimizer.zero_grad()
        act, logp = self.ac.pi(o)
        loss_pi = (alpha * logp - torch.min(q(self.ac.q1, o, act), q(self.ac.q2, o, act))).mean()
        loss_pi.backward()
        self.pi_optimizer.step()
        for p in self.q_params:
            p.requires_grad = True

        self.a_optimizer.zero_grad()
        (-(self.log_alpha * (logp.detach() - 2.0)).mean()).backward()
        self.a_optimizer.step()

        with torch.no_grad():
            for p, p_targ in zip(self.ac.parameters(), self.ac_targ.parameters()):
                p_targ.data.mul_(self.polyak)
                p_targ.data.add_((1 - self.polyak) * p.data)
        return loss_q.item(), loss_pi.item()


def run():
    torch.manual_seed(0)
    agent = SAC()
    before = copy.deepcopy(agent.ac.state_dict())
    for _ in range(3):
        o, o2 = torch.randn(8, 4), torch.randn(8, 4)
        agent.update(o, torch.rand(8, 2) * 2 - 1, torch.randn(8), o2, torch.zeros(8))
    return before, agent


def verify(outcome):
    before, agent = outcome
    for k, v in agent.ac.state_dict().items():
        assert not torch.equal(v, before[k]) and not torch.equal(agent.ac_targ.state_dict()[k], before[k]), k
    assert all(p.requires_grad for p in agent.ac.parameters()) and agent.log_alpha.item() != 0


TRUTH = Truth()
