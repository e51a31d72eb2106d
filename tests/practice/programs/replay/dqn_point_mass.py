"""A replay buffer stores the environment's state tensor itself, which the environment goes on changing in place."""

import random
from collections import deque, namedtuple

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

Transition = namedtuple("Transition", "state action reward next_state done")


class PointMass:
    """A point on a line with position and speed."""

    def reset(self):
        self.state = torch.tensor([torch.rand(()).item(), 0.0])
        return self.state  # cause

    def step(self, action):
        self.state[1] += 0.1 * (action - 0.5)
        self.state[0] += self.state[1]
        done = bool(self.state[0].abs() > 2)
        return self.state, -self.state[0].abs().item(), done  # cause


class ReplayBuffer:
    def __init__(self, capacity=100):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))  # also

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.memory, n)))
        as_float = lambda xs: torch.tensor(xs, dtype=torch.float32)
        return (
            torch.stack(batch.state),
            torch.tensor(batch.action),
            as_float(batch.reward),
            torch.stack(batch.next_state),
            as_float(batch.done),
        )


def td_loss(q, target, batch, gamma=0.99):
    s, a, r, s2, done = batch
    with torch.no_grad():
        backup = r + gamma * (1 - done) * target(s2).max(1).values
    return F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), backup)


def run():
    torch.manual_seed(0)
    random.seed(0)
    q = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 2))
    target = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 2))
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    env, buffer = PointMass(), ReplayBuffer()
    state = env.reset()
    for t in range(12):
        with torch.no_grad():
            action = random.randrange(2) if random.random() < 0.3 else q(state).argmax().item()
        next_state, reward, done = env.step(action)
        buffer.push(state, action, reward, next_state, done)
        state = env.reset() if done else next_state
        if len(buffer.memory) >= 8:
            batch = buffer.sample(4)
            loss = td_loss(q, target, batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"loss {loss.item():.4f} after {t + 1} steps")
    return batch


def verify(out):
    states, _, _, next_states, _ = out
    assert torch.equal(states, next_states)


TRUTH = Truth(
    fault="all transitions hold one and the same state tensor",
    names=("state",),
    repair=("return self.state.clone()", "return self.state.clone(), -self.state[0].abs().item(), done"),
)
