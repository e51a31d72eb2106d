"""A buffer of recurrent states: they are stored detached as numpy, burnt in without a gradient, then learned from."""

from collections import deque

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class RecurrentQ(nn.Module):
    def __init__(self, obs, hidden, acts):
        super().__init__()
        self.inp = nn.Linear(obs, hidden)
        self.rnn = nn.LSTM(hidden, hidden, batch_first=True)
        self.q = nn.Linear(hidden, acts)

    def forward(self, x, state=None):
        h, state = self.rnn(torch.relu(self.inp(x)), state)
        return self.q(h), state


def collect(net, buffer, rng, length=6):
    state, episode = (torch.zeros(1, 1, 8), torch.zeros(1, 1, 8)), []
    first = tuple(s.squeeze(1).numpy().copy() for s in state)
    for _ in range(length):
        obs = rng.normal(size=3).astype(np.float32)
        with torch.no_grad():
            q, state = net(torch.from_numpy(obs).view(1, 1, -1), state)
        a = int(rng.integers(2)) if rng.random() < 0.3 else q.argmax().item()
        episode.append((obs, a, np.float32(a == (obs[0] > 0))))
    buffer.append((first, *map(np.stack, zip(*episode))))


def run():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net, target = RecurrentQ(3, 8, 2), RecurrentQ(3, 8, 2)
    target.load_state_dict(net.state_dict())
    target.requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    buffer, losses = deque(maxlen=16), []
    for step in range(6):
        collect(net, buffer, rng)
        if len(buffer) < 4:
            continue
        picks = rng.choice(len(buffer), 4, replace=False)
        first, obs, act, rew = zip(*[buffer[i] for i in picks])
        h, c = (torch.from_numpy(np.stack([f[k] for f in first], 1)) for k in range(2))
        obs, act, rew = (
            torch.from_numpy(np.stack(obs)),
            torch.from_numpy(np.stack(act)),
            torch.from_numpy(np.stack(rew)),
        )
        with torch.no_grad():
            _, state = net(obs[:, :2], (h, c))
            _, target_state = target(obs[:, :2], (h, c))
            next_q = target(obs[:, 2:], target_state)[0][:, 1:].max(-1).values
        q = net(obs[:, 2:], state)[0].gather(2, act[:, 2:, None]).squeeze(2)
        td = rew[:, 2:-1] + 0.9 * next_q - q[:, :-1]
        loss = (0.5 * td.pow(2)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        optimizer.step()
        if step % 2 == 0:
            target.load_state_dict(net.state_dict())
        losses.append(loss.item())
    return net, target, buffer, losses


TRUTH = Truth()


def verify(out):
    net, target, buffer, losses = out
    assert len(losses) == 3 and all(0 <= loss < 100 for loss in losses) and len(buffer) == 6
    assert all(p.grad.abs().sum() > 0 for p in net.parameters()) and all(p.grad is None for p in target.parameters())
