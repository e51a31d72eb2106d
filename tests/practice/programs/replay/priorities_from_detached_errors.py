"""Prioritised replay: priorities are numbers from errors without a graph, and weights of the batch are constants."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class PrioritisedBuffer:
    def __init__(self, capacity, alpha=0.6):
        self.capacity, self.alpha, self.pos, self.data = capacity, alpha, 0, []
        self.priorities = np.zeros(capacity, dtype=np.float32)

    def push(self, item):
        top = self.priorities.max() if self.data else 1.0
        if len(self.data) < self.capacity:
            self.data.append(item)
        else:
            self.data[self.pos] = item
        self.priorities[self.pos] = top
        self.pos = (self.pos + 1) % self.capacity

    def sample(self, n, beta, rng):
        p = self.priorities[: len(self.data)] ** self.alpha
        p /= p.sum()
        idx = rng.choice(len(self.data), n, p=p)
        w = (len(self.data) * p[idx]) ** -beta
        return (
            idx,
            torch.as_tensor(w / w.max(), dtype=torch.float32),
            [torch.stack(c) for c in zip(*(self.data[i] for i in idx))],
        )

    def update(self, idx, priorities):
        for i, p in zip(idx, priorities):
            self.priorities[i] = p


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
    frozen = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2)).requires_grad_(False)
    frozen.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    buffer, losses = PrioritisedBuffer(24), []
    for step in range(30):
        s = torch.randn(4)
        with torch.no_grad():
            a = net(s).argmax()
        buffer.push((s, a, (s[0] > 0).float() * a, torch.randn(4)))
        if step < 20 or step % 3:
            continue
        idx, w, (s, a, r, s2) = buffer.sample(8, min(1.0, 0.4 + step * 0.02), rng)
        q = net(s).gather(1, a[:, None]).squeeze(1)
        y = r + 0.95 * frozen(s2).max(1).values
        errors = y - q
        loss = (w * errors.pow(2)).mean()
        buffer.update(idx, errors.detach().abs().numpy() + 1e-5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, frozen, buffer, losses


TRUTH = Truth()


def verify(out):
    net, frozen, buffer, losses = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters()) and all(p.grad is None for p in frozen.parameters())
    assert not any(t.requires_grad for item in buffer.data for t in item)
    assert len(losses) == 3 and max(losses) < 100 and len(set(buffer.priorities.tolist())) > 2
