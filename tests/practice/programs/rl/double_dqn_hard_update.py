"""Double DQN: the target net is a copy that a state dict refreshes; most actions' outputs get no gradient."""

import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Dueling(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.feature = nn.Linear(obs_dim, 16)
        self.advantage = nn.Linear(16, n_actions)
        self.value = nn.Linear(16, 1)

    def forward(self, x):
        x = F.relu(self.feature(x))
        adv = self.advantage(x)
        return self.value(x) + adv - adv.mean(1, keepdim=True)


class Replay:
    def __init__(self, size):
        self.memory = deque(maxlen=size)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, n):
        return [torch.stack([torch.as_tensor(v) for v in c]) for c in zip(*random.sample(list(self.memory), n))]


def act(net, state, eps):
    if random.random() < eps:
        return random.randrange(3)
    with torch.no_grad():
        return net(state.unsqueeze(0)).argmax(1).item()


def run():
    torch.manual_seed(0)
    random.seed(0)
    online, target = Dueling(4, 3), Dueling(4, 3)
    target.load_state_dict(online.state_dict())
    target.eval()
    optimizer = torch.optim.AdamW(online.parameters(), lr=1e-2, amsgrad=True)
    buffer, state, history = Replay(64), torch.randn(4), []
    for step in range(24):
        action = act(online, state, eps=max(0.1, 1 - step / 12))
        next_state = torch.randn(4)
        buffer.push(state, action, float(action == 0), next_state, step % 8 == 7)
        state = next_state
        if len(buffer.memory) < 16:
            continue
        s, a, r, s2, done = buffer.sample(8)
        q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = online(s2).argmax(1, keepdim=True)
            y = r + 0.99 * target(s2).gather(1, best).squeeze(1) * (~done).float()
        loss = F.smooth_l1_loss(q, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 100)
        optimizer.step()
        history.append(loss.item())
        if step % 5 == 0:
            target.load_state_dict(online.state_dict())
    return online, target, history


TRUTH = Truth()


def verify(out):
    online, target, history = out
    assert len(history) == 9
    assert all(p.grad is None for p in target.parameters())
    assert all(p.grad.abs().sum() > 0 for p in online.parameters())
