"""Double DQN with prioritised replay: gradients stopped by no_grad, target synced by load_state_dict, errors written back: healthy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class NoisyLinear(nn.Module):
    def __init__(self, i, o, sigma=0.5):
        super().__init__()
        self.mu, self.sigma = nn.Linear(i, o), nn.Parameter(torch.full((o, i), sigma / i**0.5))
        self.register_buffer("noise", torch.zeros(o, i))

    def reset_noise(self):
        f = lambda x: x.sign() * x.abs().sqrt()  # noqa: E731
        o, i = self.noise.shape
        self.noise.copy_(torch.outer(f(torch.randn(o)), f(torch.randn(i))))

    def forward(self, x):
        if not self.training:
            return self.mu(x)
        return F.linear(x, self.mu.weight + self.sigma * self.noise, self.mu.bias)


class Dueling(nn.Module):
    def __init__(self, obs=4, actions=3, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(inplace=True))
        self.value, self.advantage = NoisyLinear(hidden, 1), NoisyLinear(hidden, actions)

    def reset_noise(self):
        self.value.reset_noise()
        self.advantage.reset_noise()

    def forward(self, s):
        h = self.body(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class PrioritisedReplay:
    def __init__(self, size, obs=4):
        self.s, self.s2 = torch.zeros(size, obs), torch.zeros(size, obs)
        self.a, self.r = torch.zeros(size, dtype=torch.long), torch.zeros(size)
        self.priority = torch.zeros(size)
        self.size, self.n = size, 0

    def add(self, s, a, r, s2):
        i = self.n % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i] = s, a, r, s2
        self.priority[i] = max(self.priority.max().item(), 1.0)
        self.n += 1

    def sample(self, batch, beta=0.4):
        p = self.priority / self.priority.sum()
        idx = torch.multinomial(p, batch)
        weight = (p[idx] * min(self.n, self.size)) ** -beta
        return idx, weight / weight.max(), self.s[idx], self.a[idx], self.r[idx], self.s2[idx]


def learn(online, target, buffer, optimizer, gamma=0.9):
    idx, weight, s, a, r, s2 = buffer.sample(16)
    online.reset_noise()
    q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = online(s2).argmax(1, keepdim=True)
        y = r + gamma * target(s2).gather(1, best).squeeze(1)
    error = y - q
    optimizer.zero_grad(set_to_none=True)
    (weight * F.smooth_l1_loss(q, y, reduction="none")).mean().backward()
    nn.utils.clip_grad_value_(online.parameters(), 1.0)
    optimizer.step()
    buffer.priority[idx] = error.detach().abs() + 1e-3


def run():
    torch.manual_seed(0)
    online = Dueling()
    target = copy.deepcopy(online).requires_grad_(False).eval()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    buffer, s = PrioritisedReplay(64), torch.randn(4)
    before = [p.detach().clone() for p in online.parameters()]
    for t in range(40):
        with torch.no_grad():
            a = online(s).argmax().item()
        s2 = 0.9 * s + 0.1 * torch.randn(4) + 0.1 * (a - 1)
        buffer.add(s, a, -s2.abs().sum().item(), s2)
        s = s2
        if t >= 24 and t % 4 == 0:
            learn(online, target, buffer, optimizer)
        if t % 8 == 7:
            target.load_state_dict(online.state_dict())
    return before, list(online.parameters()), list(target.parameters())


def verify(outcome):
    before, online, target = outcome
    assert all(not torch.equal(b, p) for b, p in zip(before, online))
    assert all(torch.equal(t, p) and t.grad is None for t, p in zip(target, online))


TRUTH = Truth()
