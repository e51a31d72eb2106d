"""Double Q-learning with compiled networks and an acting policy under no_grad."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global q, target, optimizer, act, loss_of
    import copy

    q = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    target = copy.deepcopy(q)
    for p in target.parameters():
        p.requires_grad = False
    optimizer = torch.optim.Adam(q.parameters())

    @torch.compile(backend=BACKEND)
    def act(state):
        with torch.no_grad():
            return q(state).argmax(-1)

    @torch.compile(backend=BACKEND)
    def loss_of(s, a, r, s2):
        now = q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            best = q(s2).argmax(-1)
            later = target(s2).gather(1, best[:, None]).squeeze(1)
        return F.smooth_l1_loss(now, r + 0.9 * later)


def run():
    for index in range(4):
        s = torch.randn(6, 3)
        a = act(s)
        loss = loss_of(s, a, torch.randn(6), torch.randn(6, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if index % 2:
            target.load_state_dict(q.state_dict())
