"""DreamerV3-like critic, and right: symlog two-hot targets, percentile-scaled returns, a slow critic as regulariser."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

BINS = torch.linspace(-3, 3, 15)


def symlog(x):
    return x.sign() * (x.abs() + 1).log()


def symexp(x):
    return x.sign() * (x.abs().exp() - 1)


def two_hot(x):
    x = symlog(x).clamp(BINS[0], BINS[-1])
    k = (BINS[None] <= x[..., None]).sum(-1).clamp(1, len(BINS) - 1)
    lo, hi = BINS[k - 1], BINS[k]
    w = (x - lo) / (hi - lo)
    target = torch.zeros(*x.shape, len(BINS))
    target.scatter_(-1, (k - 1).unsqueeze(-1), (1 - w).unsqueeze(-1))
    target.scatter_(-1, k.unsqueeze(-1), w.unsqueeze(-1))
    return target


def value_of(logits):
    return symexp((logits.softmax(-1) * BINS).sum(-1))


class ReturnScale:
    def __init__(self, decay=0.9):
        self.decay, self.lo, self.hi = decay, torch.zeros(()), torch.zeros(())

    def __call__(self, returns):
        q = torch.quantile(returns.detach(), torch.tensor([0.05, 0.95]))
        self.lo = self.decay * self.lo + (1 - self.decay) * q[0]
        self.hi = self.decay * self.hi + (1 - self.decay) * q[1]
        return (self.hi - self.lo).clamp(min=1.0)


def lambda_returns(reward, value, gamma=0.95, lam=0.9):
    out = [value[-1]]
    for t in reversed(range(len(reward))):
        out.append(reward[t] + gamma * ((1 - lam) * value[t + 1] + lam * out[-1]))
    return torch.stack(out[::-1][:-1])


def run():
    torch.manual_seed(0)
    dynamics = nn.Linear(6 + 2, 6).requires_grad_(False)
    actor = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, len(BINS)))
    nn.init.zeros_(critic[-1].weight)
    slow = copy.deepcopy(critic).requires_grad_(False)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    scale = ReturnScale()
    start = {n: p.detach().clone() for n, p in [*actor.named_parameters("actor"), *critic.named_parameters("critic")]}
    for _ in range(3):
        states = [torch.randn(8, 6)]
        for _ in range(4):
            states.append(dynamics(torch.cat([states[-1], actor(states[-1]).tanh()], -1)).tanh())
        states = torch.stack(states)
        critic.requires_grad_(False)  # the actor's gradient goes through it, not into it
        returns = lambda_returns(states[1:, :, 0], value_of(critic(states)))
        actor_loss = -(returns / scale(returns)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        critic.requires_grad_(True)

        logits = critic(states[:-1].detach())
        log_p = F.log_softmax(logits, -1)
        loss = -(two_hot(returns.detach()) * log_p).sum(-1).mean()
        with torch.no_grad():
            slow_p = slow(states[:-1]).softmax(-1)
        loss = loss - (slow_p * log_p).sum(-1).mean()
        critic_opt.zero_grad()
        loss.backward()
        critic_opt.step()
        with torch.no_grad():
            for s, p in zip(slow.parameters(), critic.parameters()):
                s.lerp_(p, 0.02)
    now = dict([*actor.named_parameters("actor"), *critic.named_parameters("critic")])
    return {n: (now[n].detach() - start[n]).abs().max().item() for n in start}


def verify(outcome):
    assert all(v > 0 for v in outcome.values())


TRUTH = Truth()
