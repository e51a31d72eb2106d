"""Double DQN with DDP: the target network is a deep copy of the wrapper, each rank explores an environment of its own."""

import copy
import random
from collections import deque

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

STATES, ACTIONS, GAMMA, SYNC_EVERY = 5, 2, 0.9, 3


class Chain:
    """A walk on a line with slippery ground; the far end pays."""

    def __init__(self, seed):
        self.rng, self.position = random.Random(seed), 0

    def observe(self):
        return F.one_hot(torch.tensor(self.position), STATES).float()

    def step(self, action):
        move = 1 if (action == 1) != (self.rng.random() < 0.2) else -1
        self.position = min(max(self.position + move, 0), STATES - 1)
        paid = float(self.position == STATES - 1)
        done = bool(paid)
        after = self.observe()
        self.position = 0 if done else self.position
        return after, paid, done


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(STATES, 12), nn.LayerNorm(12), nn.ReLU())
        self.value, self.advantage = nn.Linear(12, 1), nn.Linear(12, ACTIONS)

    def forward(self, s):
        h = self.trunk(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


def explore(online, env, memory, rng, steps=8):
    for _ in range(steps):
        s = env.observe()
        with torch.no_grad():
            greedy = int(online.module(s[None]).argmax())
        a = rng.randrange(ACTIONS) if rng.random() < 0.3 else greedy
        memory.append((s, a, *env.step(a)))


def td_loss(online, target, batch):
    s, a, after, r, done = (torch.stack(c) if torch.is_tensor(c[0]) else torch.tensor(c) for c in zip(*batch))
    with torch.no_grad():
        best = online.module(after).argmax(1, keepdim=True)
        goal = r + GAMMA * (1 - done.float()) * target(after).gather(1, best).squeeze(1)
    return F.smooth_l1_loss(online(s).gather(1, a[:, None]).squeeze(1), goal)


def run():
    rng = random.Random(dist.get_rank())
    env, memory = Chain(10 + dist.get_rank()), deque(maxlen=64)
    torch.manual_seed(0)
    online = DDP(Dueling())
    target = copy.deepcopy(online).requires_grad_(False).eval()
    opt = torch.optim.Adam(online.parameters(), lr=5e-3)
    for step in range(6):
        explore(online, env, memory, rng)
        opt.zero_grad()
        td_loss(online, target, rng.sample(list(memory), 8)).backward()
        opt.step()
        if step % SYNC_EVERY == SYNC_EVERY - 1:
            target.load_state_dict(online.state_dict())
    return [round(p.norm().item(), 6) for p in online.parameters()]


TRUTH = Truth(values=True)
