"""Consistency training: the target network is refreshed by load_state_dict(assign=True) and is the online one from then on."""

import copy

import torch
import torch.nn as nn

from tests.practice.truth import Truth

SIGMA_MIN, SIGMA_MAX, RHO = 0.002, 8.0, 7.0


def karras_schedule(n):
    ramp = torch.linspace(0, 1, n)
    return (SIGMA_MIN ** (1 / RHO) + ramp * (SIGMA_MAX ** (1 / RHO) - SIGMA_MIN ** (1 / RHO))) ** RHO


class ConsistencyModel(nn.Module):
    def __init__(self, dim=4, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, sigma):
        s = sigma.unsqueeze(1)
        c_skip = 0.25 / ((s - SIGMA_MIN) ** 2 + 0.25)
        c_out = 0.5 * (s - SIGMA_MIN) / (s**2 + 0.25).sqrt()
        return c_skip * x + c_out * self.net(torch.cat([x, s.log() / 4], 1))


class ConsistencyTrainer:
    def __init__(self, model, mu=0.9, warmup=2):
        self.model = model
        self.target = copy.deepcopy(model).requires_grad_(False)
        self.optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2)
        self.mu, self.warmup, self.step = mu, warmup, 0

    def update_target(self):
        if self.step == self.warmup:  # the first steps are noise: begin the average afresh
            self.target.load_state_dict(self.model.state_dict(keep_vars=False), assign=True)  # cause
            return
        with torch.no_grad():
            for t, p in zip(self.target.parameters(), self.model.parameters()):
                t.lerp_(p, 1 - self.mu)

    def train_step(self, x):
        sigmas = karras_schedule(6)
        n = torch.randint(0, 5, (len(x),))
        noise = torch.randn_like(x)
        online = self.model(x + sigmas[n + 1, None] * noise, sigmas[n + 1])
        with torch.no_grad():
            goal = self.target(x + sigmas[n, None] * noise, sigmas[n])
        loss = (online - goal).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        self.update_target()
        return loss.item()


def run():
    torch.manual_seed(0)
    trainer = ConsistencyTrainer(ConsistencyModel())
    gaps = []
    for _ in range(5):
        trainer.train_step(torch.randn(16, 4))
        pairs = zip(trainer.model.parameters(), trainer.target.parameters())
        gaps.append(max((p - t).abs().max().item() for p, t in pairs))
    return gaps


def verify(outcome):
    assert outcome[0] > 0
    assert outcome[2:] == [0.0, 0.0, 0.0]


TRUTH = Truth(
    fault="with assign=True the target holds the storages of the online parameters, so it is stepped with them and is no average",
    names=("target",),
    repair=("self.target.load_state_dict(self.model.state_dict())",),
)
