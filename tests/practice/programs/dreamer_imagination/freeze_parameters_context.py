"""Dreamer-like: the context that freezes the world model keeps a generator, so it never thaws what it froze."""

import itertools

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class FreezeParameters:
    """Do not spend gradients on the world model while the actor is trained in imagination."""

    def __init__(self, modules):
        self.params = itertools.chain.from_iterable(m.parameters() for m in modules)  # cause

    def __enter__(self):
        for p in self.params:
            p.requires_grad = False  # also

    def __exit__(self, *exc):
        for p in self.params:
            p.requires_grad = True


class WorldModel(nn.Module):
    def __init__(self, obs=6, act=2, hidden=16):
        super().__init__()
        self.encoder = nn.Linear(obs, hidden)
        self.cell = nn.GRUCell(hidden + act, hidden)
        self.decoder = nn.Linear(hidden, obs)
        self.reward = nn.Linear(hidden, 1)

    def observe(self, obs, act):
        h = torch.zeros(obs.shape[1], self.cell.hidden_size)
        states = []
        for o, a in zip(obs, act):
            h = self.cell(torch.cat([self.encoder(o).tanh(), a], -1), h)
            states.append(h)
        return torch.stack(states)

    def imagine(self, h, actor, horizon):
        rewards = []
        for _ in range(horizon):
            h = self.cell(torch.cat([h, actor(h)], -1), h)
            rewards.append(self.reward(h))
        return torch.stack(rewards)


class Dreamer:
    def __init__(self):
        self.world = WorldModel()
        self.actor = nn.Sequential(nn.Linear(16, 16), nn.ELU(), nn.Linear(16, 2), nn.Tanh())
        self.skip = nn.Linear(6, 6)
        self.world_opt = torch.optim.Adam([*self.world.parameters(), *self.skip.parameters()], lr=1e-2)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-2)

    def update(self, obs, act, rew):
        states = self.world.observe(obs, act)
        recon = self.world.decoder(states) + self.skip(obs)
        model_loss = (recon - obs).pow(2).mean() + (self.world.reward(states) - rew).pow(2).mean()
        self.world_opt.zero_grad()
        model_loss.backward()
        self.world_opt.step()

        with FreezeParameters([self.world]):
            returns = self.world.imagine(states.detach().flatten(0, 1), self.actor, horizon=3)
            actor_loss = -returns.mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()


def run():
    torch.manual_seed(0)
    agent = Dreamer()
    snapshots = []
    for _ in range(3):
        agent.update(torch.randn(5, 4, 6), torch.randn(5, 4, 2), torch.randn(5, 4, 1))
        snapshots.append(agent.world.encoder.weight.detach().clone())
    return snapshots


def verify(outcome):
    first, second, third = outcome
    assert torch.equal(first, second) and torch.equal(second, third)


TRUTH = Truth(
    fault="the chain of parameters is exhausted when the context is left, so the world model stays frozen after the first update",
    names=("world",),
    repair=("self.params = [p for m in modules for p in m.parameters()]",),
)
