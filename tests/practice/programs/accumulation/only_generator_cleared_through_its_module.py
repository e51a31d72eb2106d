"""Two networks: at the turn of the generator the module clears what its own turn left; the critic clears by optimizer."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G, D = nn.Linear(4, 6), nn.Linear(6, 1)
    opt_g, opt_d = torch.optim.RMSprop(G.parameters(), 1e-4), torch.optim.RMSprop(D.parameters(), 1e-4)
    for _ in range(3):
        for _critic in range(2):
            D.zero_grad()
            loss = D(G(torch.randn(8, 4)).detach()).mean() - D(torch.randn(8, 6)).mean()
            loss.backward()
            opt_d.step()
        G.zero_grad()
        (-D(G(torch.randn(8, 4))).mean()).backward()
        opt_g.step()
    return G


TRUTH = Truth()
