"""Recurrent Q-learning: the burn-in of the compiled unroll runs over the whole sequence without grad."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("cell",)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.value = nn.GRUCell(4, 8), nn.Linear(8, 3)

    def forward(self, obs):
        h = obs.new_zeros(obs.shape[1], 8)
        outputs = []
        with torch.no_grad():  # cause
            for t in range(obs.shape[0]):
                h = self.cell(obs[t], h)
                outputs.append(h)
        return self.value(torch.stack(outputs[2:]))


def setup():
    global agent, unroll, optimizer
    torch.manual_seed(0)
    agent = Agent()
    unroll = torch.compile(agent, backend=BACKEND)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)


def run():
    for _ in range(2):
        q = unroll(torch.randn(5, 6, 4))
        chosen = q.gather(-1, torch.randint(3, (3, 6, 1))).squeeze(-1)
        loss = nn.functional.smooth_l1_loss(chosen, torch.randn(3, 6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
