"""One loss of both heads, the advantage detached."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    trunk, pi, v = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    opt = torch.optim.RMSprop([*trunk.parameters(), *pi.parameters(), *v.parameters()], 1e-3)
    for _ in range(2):
        h = trunk(torch.randn(16, 4)).tanh()
        dist, value = torch.distributions.Categorical(logits=pi(h)), v(h).squeeze(-1)
        action = dist.sample()
        ret = torch.randn(16)
        advantage = ret - value
        loss = -(dist.log_prob(action) * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean()
        loss = loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(values=True)
