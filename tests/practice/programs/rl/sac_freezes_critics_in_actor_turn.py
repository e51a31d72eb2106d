"""SAC: the critics are frozen while the actor learns through them, thawed after, and followed by polyak targets."""

import copy
import itertools
import torch
from torch import nn
from tests.practice.truth import Truth


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, 2 * act))

    def forward(self, obs):
        mu, log_std = self.body(obs).chunk(2, -1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-5, 2).exp())
        u = dist.rsample()
        logp = dist.log_prob(u).sum(-1) - (2 * (0.6931 - u - nn.functional.softplus(-2 * u))).sum(-1)
        return u.tanh(), logp


class Critic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(obs + act, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs, act):
        return self.q(torch.cat([obs, act], -1)).squeeze(-1)


class Sac:
    def __init__(self):
        self.actor = Actor(4, 2)
        self.critics = nn.ModuleList([Critic(4, 2), Critic(4, 2)])
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_alpha = torch.zeros((), requires_grad=True)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), 3e-3)
        self.critic_opt = torch.optim.Adam(itertools.chain(*(c.parameters() for c in self.critics)), 3e-3)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], 1e-2)

    def update(self, s, a, r, s2, done):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            a2, logp2 = self.actor(s2)
            q2 = torch.min(*(t(s2, a2) for t in self.targets)) - alpha * logp2
            backup = r + 0.99 * (1 - done) * q2
        self.critic_opt.zero_grad()
        sum(((c(s, a) - backup) ** 2).mean() for c in self.critics).backward()
        critic_grads = [p.grad.clone() for p in self.critics.parameters()]
        self.critic_opt.step()

        self.critics.requires_grad_(False)
        new_a, logp = self.actor(s)
        actor_loss = (alpha * logp - torch.min(*(c(s, new_a) for c in self.critics))).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        untouched = all(torch.equal(p.grad, g) for p, g in zip(self.critics.parameters(), critic_grads))
        actor_norm = sum(p.grad.abs().sum() for p in self.actor.parameters()).item()
        self.actor_opt.step()
        self.critics.requires_grad_(True)

        self.alpha_opt.zero_grad()
        (-self.log_alpha * (logp.detach() - 2.0)).mean().backward()
        alpha_grad, wanted = self.log_alpha.grad.clone(), -(logp.detach() - 2.0).mean()
        self.alpha_opt.step()
        with torch.no_grad():
            for t, p in zip(self.targets.parameters(), self.critics.parameters()):
                t.mul_(0.95).add_(p, alpha=0.05)
        return untouched, actor_norm, alpha_grad, wanted


def run():
    torch.manual_seed(0)
    agent = Sac()
    nets = nn.ModuleList([agent.actor, agent.critics, agent.targets])
    start = [p.detach().clone() for p in nets.parameters()]
    log = []
    for _ in range(3):
        s, s2 = torch.randn(2, 32, 4)
        log.append(agent.update(s, torch.rand(32, 2) * 2 - 1, torch.randn(32), s2, (torch.rand(32) < 0.1).float()))
    return log, start, [p.detach().clone() for p in nets.parameters()], agent.log_alpha.item()


def verify(outcome):
    log, start, end, log_alpha = outcome
    for untouched, norm, got, wanted in log:
        assert untouched and norm > 0 and torch.allclose(got, wanted, atol=1e-5)
    assert log_alpha != 0 and all(not torch.equal(a, b) for a, b in zip(start, end))


TRUTH = Truth()
