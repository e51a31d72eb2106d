"""PETS: an ensemble with learned bounds of its variance, elites by value, actions optimised by the cross-entropy method."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Ensemble(nn.Module):
    def __init__(self, state=3, action=1, members=3, hidden=16):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(members, state + action, hidden) / 2)
        self.w2 = nn.Parameter(torch.randn(members, hidden, 2 * state) / 5)
        self.upper = nn.Parameter(torch.full((1, 1, state), 0.5))
        self.lower = nn.Parameter(torch.full((1, 1, state), -5.0))
        self.register_buffer("mean", torch.zeros(state + action))
        self.register_buffer("std", torch.ones(state + action))

    @torch.no_grad()
    def fit_input_stats(self, x):
        self.mean.copy_(x.mean(0))
        self.std.copy_(x.std(0).clamp_min(1e-4))

    def forward(self, x):
        mean, log_var = (F.silu(((x - self.mean) / self.std) @ self.w1) @ self.w2).chunk(2, -1)
        log_var = self.upper - F.softplus(self.upper - log_var)
        return mean, self.lower + F.softplus(log_var - self.lower)

    def loss(self, x, y):
        mean, log_var = self(x)
        nll = ((mean - y) ** 2 * (-log_var).exp() + log_var).mean((1, 2)).sum()
        decay = 1e-4 * self.w1.pow(2).sum() + 1e-4 * self.w2.pow(2).sum()
        return nll + decay + 0.01 * (self.upper.sum() - self.lower.sum())


@torch.no_grad()
def plan(model, state, horizon=4, population=12, rounds=2):
    mean, std = torch.zeros(horizon, 1), torch.ones(horizon, 1)
    for _ in range(rounds):
        actions = (mean + std * torch.randn(population, horizon, 1)).clamp(-1, 1)
        s, cost = state.expand(3, population, -1), torch.zeros(population)
        for t in range(horizon):
            a = actions[:, t].expand(3, -1, -1)
            delta, log_var = model(torch.cat([s, a], -1))
            s = s + delta + (0.5 * log_var).exp() * torch.randn_like(delta)
            cost += s.pow(2).sum(-1).mean(0)
        elite = actions[cost.topk(4, largest=False).indices]
        mean, std = elite.mean(0), elite.std(0)
    return mean[0]


def run():
    torch.manual_seed(0)
    model = Ensemble()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    states, actions = torch.randn(60, 3), torch.rand(60, 1) * 2 - 1
    for _ in range(2):
        inputs = torch.cat([states, actions], 1)
        model.fit_input_stats(inputs)
        targets = 0.1 * states + actions
        rows = torch.randint(60, (3, 60))
        for part in rows.split(20, 1):
            opt.zero_grad()
            loss = model.loss(inputs[part], targets[part])
            loss.backward()
            opt.step()
        action = plan(model, states[-1])
        states = torch.cat([states[1:], states[-1:] * 1.1 + action])
        actions = torch.cat([actions[1:], action[None]])


TRUTH = Truth()
