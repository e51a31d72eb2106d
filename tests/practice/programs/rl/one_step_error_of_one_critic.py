"""TD(0): the value of the next state keeps its graph in the squared TD error."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(critic.parameters(), 0.1)
    same = []
    for _ in range(2):
        obs, nxt, reward, done = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16, 1), torch.zeros(16, 1)
        right = (reward + 0.9 * critic(nxt).detach() - critic(obs)).pow(2).mean()
        alone = torch.autograd.grad(right, critic[0].weight)[0]
        target = reward + 0.9 * (1 - done) * critic(nxt)  # cause
        loss = (target - critic(obs)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        same.append(torch.allclose(alone, critic[0].weight.grad))
        opt.step()
    return same


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the bootstrap target is not detached",
    repair=("target = reward + 0.9 * (1 - done) * critic(nxt).detach()",),
)
