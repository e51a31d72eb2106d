"""DQN with a compiled target network under no_grad, and a soft update."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, target, optimizer
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net).requires_grad_(False)
    net, target = torch.compile(net, backend=BACKEND), torch.compile(target, backend=BACKEND)
    optimizer = torch.optim.Adam(net.parameters())


def run():
    for _ in range(3):
        x, nxt = torch.randn(5, 4), torch.randn(5, 4)
        with torch.no_grad():
            goal = 1.0 + 0.9 * target(nxt).max(1).values
        chosen = net(x).gather(1, torch.randint(0, 2, (5, 1))).squeeze(1)
        loss = F.smooth_l1_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, b in zip(target.parameters(), net.parameters()):
                a.lerp_(b, 0.05)
