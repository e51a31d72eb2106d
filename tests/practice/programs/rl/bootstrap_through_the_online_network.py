"""DQN: the TD target comes from the online network with its graph, so backward also pushes the target."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(q.parameters(), lr=1e-2)
    for _ in range(2):
        obs, nxt, reward = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32)
        action = torch.randint(0, 2, (32, 1))
        chosen = q(obs).gather(1, action).squeeze(1)
        target = reward + 0.99 * q(nxt).max(1).values  # cause
        loss = F.smooth_l1_loss(chosen, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return chosen.requires_grad and target.requires_grad


def verify(out):
    assert out


TRUTH = Truth(
    fault="the bootstrap target is not detached",
    repair=("target = (reward + 0.99 * q(nxt).max(1).values).detach()",),
)
