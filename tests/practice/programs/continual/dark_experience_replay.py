"""Dark experience replay (DER++): the logits in the buffer still carry their graph."""

import random

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Reservoir:
    """Reservoir sampling over the whole stream."""

    def __init__(self, size, seed=0):
        self.size, self.seen, self.items = size, 0, []
        self.random = random.Random(seed)

    def __len__(self):
        return len(self.items)

    def add(self, x, y, logits):
        for item in zip(x, y, logits):
            self.seen += 1
            if len(self.items) < self.size:
                self.items.append(item)
            else:
                slot = self.random.randrange(self.seen)
                if slot < self.size:
                    self.items[slot] = item

    def sample(self, n):
        picked = self.random.sample(self.items, min(n, len(self.items)))
        return tuple(torch.stack(column) for column in zip(*picked))


class Backbone(nn.Module):
    def __init__(self, width=9, hidden=24, classes=6):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class DERpp:
    def __init__(self, net, alpha=0.3, beta=0.5, lr=0.05):
        self.net, self.alpha, self.beta = net, alpha, beta
        self.opt = torch.optim.SGD(net.parameters(), lr=lr)
        self.buffer = Reservoir(24)

    def observe(self, x, y):
        self.opt.zero_grad()
        logits = self.net(x)
        loss = F.cross_entropy(logits, y)
        if len(self.buffer):
            bx, _, old_logits = self.buffer.sample(8)
            loss = loss + self.alpha * F.mse_loss(self.net(bx), old_logits)
            bx, by, _ = self.buffer.sample(8)
            loss = loss + self.beta * F.cross_entropy(self.net(bx), by)
        loss.backward()  # symptom
        self.opt.step()
        self.buffer.add(x, y, logits)  # cause
        return loss.item()


def task_stream(tasks=2, batches=2, n=12):
    for task in range(tasks):
        for _ in range(batches):
            y = torch.randint(0, 3, (n,)) + 3 * task
            yield torch.randn(n, 9) + F.one_hot(y, 9) * 2, y


def run():
    torch.manual_seed(0)
    method = DERpp(Backbone())
    return [method.observe(x, y) for x, y in task_stream()]


TRUTH = Truth(
    fault="the buffer keeps logits with their freed graph; the replay loss goes back into the old step",
    raises="Trying to backward through the graph a second time",
    names=("logits", "buffer"),
    repair=("self.buffer.add(x, y, logits.detach())",),
)
