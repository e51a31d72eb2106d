"""DQN: the bootstrap target is computed by the online network with its graph, so the loss also pulls the target towards the estimate."""

from collections import deque, namedtuple

import torch
import torch.nn as nn

from tests.practice.truth import Truth

Transition = namedtuple("Transition", "s a r s2 done")
GAMMA = 0.95


class QNet(nn.Module):
    def __init__(self, n_s=3, n_a=2):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(n_s, 16), nn.ReLU(), nn.Linear(16, n_a))

    def forward(self, s):
        return self.fc(s)


class Replay:
    def __init__(self, cap=64):
        self.mem = deque(maxlen=cap)

    def push(self, *t):
        self.mem.append(Transition(*t))

    def sample(self, n):
        idx = torch.randint(0, len(self.mem), (n,)).tolist()
        cols = zip(*[self.mem[i] for i in idx])
        return Transition(*[torch.stack(c) for c in cols])


class Agent:
    def __init__(self):
        self.q = QNet()
        self.opt = torch.optim.RMSprop(self.q.parameters(), lr=1e-3)
        self.memory = Replay()

    def targets(self, b):
        best = self.q(b.s2).max(1).values  # cause
        return b.r + GAMMA * best * (1 - b.done)

    def learn(self):
        b = self.memory.sample(16)
        q_sa = self.q(b.s).gather(1, b.a.unsqueeze(1)).squeeze(1)
        loss = nn.functional.mse_loss(q_sa, self.targets(b))
        semi = nn.functional.mse_loss(q_sa, self.targets(b).detach())
        want = torch.autograd.grad(semi, list(self.q.parameters()), retain_graph=True)
        self.opt.zero_grad()
        loss.backward()
        gap = max((p.grad - g).abs().max().item() for p, g in zip(self.q.parameters(), want))
        self.opt.step()
        return gap


def run():
    torch.manual_seed(0)
    agent = Agent()
    s = torch.zeros(3)
    for t in range(40):
        a = torch.randint(0, 2, ())
        s2 = (s + torch.randn(3) * 0.2 + (a - 0.5)).clamp(-2, 2)
        done = torch.tensor(float(t % 10 == 9))
        agent.memory.push(s, a, s2.sum(), s2, done)
        s = torch.zeros(3) if done else s2
    return [agent.learn() for _ in range(3)]


def verify(gaps):
    assert all(g > 1e-3 for g in gaps), gaps


TRUTH = Truth(
    fault="the bootstrap target keeps its graph, so the gradient also flows through max Q(s2)",
    names=("q",),
    repair=("with torch.no_grad():\n    best = self.q(b.s2).max(1).values",),
)
