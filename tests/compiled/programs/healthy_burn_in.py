"""Recurrent Q-learning with a burn-in without grad, a target network, double Q and a replay priority by numpy."""

import copy

import numpy as np
import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.value = nn.GRUCell(4, 8), nn.Linear(8, 3)

    def forward(self, obs, burn):
        h = obs.new_zeros(obs.shape[1], 8)
        outputs = []
        with torch.no_grad():
            for t in range(burn):
                h = self.cell(obs[t], h)
        for t in range(burn, obs.shape[0]):
            h = self.cell(obs[t], h)
            outputs.append(h)
        return self.value(torch.stack(outputs))


def setup():
    global agent, target, unroll, unroll_target, optimizer
    torch.manual_seed(0)
    agent = Agent()
    target = copy.deepcopy(agent).requires_grad_(False)
    unroll = torch.compile(agent, backend=BACKEND)
    unroll_target = torch.compile(target, backend=BACKEND)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)


def run():
    priorities = []
    for _ in range(3):
        obs, reward = torch.randn(6, 5, 4), torch.randn(4, 5)
        q = unroll(obs, 2)
        with torch.no_grad():
            best = q.argmax(-1, keepdim=True)
            wanted = reward + 0.99 * unroll_target(obs, 2).gather(-1, best).squeeze(-1)
        error = q.gather(-1, torch.randint(3, (4, 5, 1))).squeeze(-1) - wanted
        priorities.append(float(np.abs(error.detach().numpy()).max()))
        loss = error.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 10.0)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), agent.parameters()):
                slow.lerp_(fast, 0.005)
