"""PipeDream: gradients are one step late on purpose; backward runs on stashed old weights via functional_call."""

import collections
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call
from tests.practice.truth import Truth

DELAY = 1


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.net(x)


class Pipe:
    def __init__(self, stage, lr):
        self.stage = stage
        self.opt = torch.optim.SGD(stage.parameters(), lr=lr, momentum=0.5)
        self.inflight = collections.deque()

    def feed(self, x, y):
        stash = {n: p.detach().clone().requires_grad_() for n, p in self.stage.named_parameters()}
        loss = F.cross_entropy(functional_call(self.stage, stash, (x,)), y)
        self.inflight.append((stash, loss))
        if len(self.inflight) > DELAY:
            self.retire()

    def retire(self):
        stash, loss = self.inflight.popleft()
        loss.backward()
        for name, p in self.stage.named_parameters():
            p.grad = stash[name].grad
        self.opt.step()
        self.opt.zero_grad()

    def flush(self):
        while self.inflight:
            self.retire()


def data():
    g = torch.Generator().manual_seed(9)
    return [(torch.randn(6, 5, generator=g), torch.randint(2, (6,), generator=g)) for _ in range(5)]


def run():
    torch.manual_seed(0)
    pipe = Pipe(Stage(), 0.2)
    start = [p.detach().clone() for p in pipe.stage.parameters()]
    for x, y in data():
        pipe.feed(x, y)
    pipe.flush()
    return start, [p.detach().clone() for p in pipe.stage.parameters()]


def verify(outcome):
    start, end = outcome
    stage = Stage()
    params = list(stage.parameters())
    weights, velocity = [start], [torch.zeros_like(p) for p in params]
    for t, (x, y) in enumerate(data()):
        with torch.no_grad():
            for p, w in zip(params, weights[max(0, t - DELAY)]):
                p.copy_(w)
        grads = torch.autograd.grad(F.cross_entropy(stage(x), y), params)
        velocity = [0.5 * v + g for v, g in zip(velocity, grads)]
        weights.append([w - 0.2 * v for w, v in zip(weights[-1], velocity)])
    for a, b, s in zip(weights[-1], end, start):
        assert torch.allclose(a, b, atol=1e-6) and not torch.equal(b, s)


TRUTH = Truth()
