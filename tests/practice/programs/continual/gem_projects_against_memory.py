"""A-GEM: two backwards per step into the same .grad, the memory gradient is copied out, cleared, and projected away when it conflicts."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Reservoir:
    def __init__(self, size):
        self.size, self.seen, self.rows = size, 0, []

    def add(self, x, y):
        for pair in zip(x, y):
            self.seen += 1
            if len(self.rows) < self.size:
                self.rows.append(pair)
            elif (at := int(torch.randint(self.seen, ()))) < self.size:
                self.rows[at] = pair

    def sample(self, n):
        picks = torch.randperm(len(self.rows))[:n].tolist()
        xs, ys = zip(*(self.rows[i] for i in picks))
        return torch.stack(xs), torch.stack(ys)


class AGem:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr)
        self.memory = Reservoir(20)
        self.projected, self.log = 0, []

    def flat_grad(self):
        return torch.cat([p.grad.flatten() for p in self.net.parameters()])

    def observe(self, x, y):
        reference = None
        if self.memory.rows:
            self.opt.zero_grad()
            mx, my = self.memory.sample(10)
            F.cross_entropy(self.net(mx), my).backward()
            reference = self.flat_grad()
        self.opt.zero_grad()
        F.cross_entropy(self.net(x), y).backward()
        g = self.flat_grad()
        if reference is not None and (dot := g @ reference) < 0:
            fixed = g - dot / reference.square().sum() * reference
            for p, part in zip(self.net.parameters(), fixed.split([p.numel() for p in self.net.parameters()])):
                p.grad.copy_(part.view_as(p))
            self.projected += 1
        self.log.append((reference, g, self.flat_grad()))
        self.opt.step()
        self.memory.add(x, y)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
    start = torch.cat([p.detach().flatten() for p in net.parameters()])
    learner = AGem(net, 0.2)
    for step in range(6):
        x = torch.randn(10, 4)
        y = (x[:, 0] > 0).long()
        learner.observe(x, y if step < 3 else 1 - y)  # the second task contradicts the first
    return learner, start, torch.cat([p.detach().flatten() for p in net.parameters()])


def verify(outcome):
    learner, start, end = outcome
    assert learner.projected > 0
    total = torch.zeros_like(start)
    for reference, g, used in learner.log:
        if reference is None or g @ reference >= 0:
            assert torch.equal(g, used)
        else:
            assert abs(used @ reference) < 1e-4 and not torch.equal(used, g)
        total += used
    assert torch.allclose(start - 0.2 * total, end, atol=1e-5)
    assert not (start == end).all()


TRUTH = Truth()
