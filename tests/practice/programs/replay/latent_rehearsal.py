"""Continual learning by latent replay: the stored features still lead into the graphs of the steps that made them."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Reservoir:
    def __init__(self, capacity):
        self.capacity, self.seen, self.items = capacity, 0, []

    def add(self, features, labels):
        for item in zip(features, labels):
            self.seen += 1
            if len(self.items) < self.capacity:
                self.items.append(item)  # cause
            else:
                j = random.randrange(self.seen)
                if j < self.capacity:
                    self.items[j] = item  # cause

    def sample(self, n):
        feats, labels = zip(*random.sample(self.items, n))
        return torch.stack(feats), torch.stack(labels)


class Learner(nn.Module):
    def __init__(self, dim=6, latent=8, classes=4):
        super().__init__()
        self.extractor = nn.Sequential(nn.Linear(dim, 12), nn.ReLU(), nn.Linear(12, latent))
        self.top = nn.Sequential(nn.ReLU(), nn.Linear(latent, classes))

    def forward(self, x):
        z = self.extractor(x)
        return z, self.top(z)


def task(k, n=8):
    return torch.randn(n, 6) + k, torch.randint(2 * k, 2 * k + 2, (n,))


def run():
    torch.manual_seed(0)
    random.seed(0)
    model, memory = Learner(), Reservoir(capacity=12)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for k in range(2):
        for step in range(2):
            x, y = task(k)
            z, logits = model(x)
            loss = F.cross_entropy(logits, y)
            if len(memory.items) >= 4:
                old_z, old_y = memory.sample(4)
                loss = loss + F.cross_entropy(model.top(old_z), old_y)
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
            memory.add(z, y)  # also
        print(f"task {k} loss {loss.item():.4f} memory {len(memory.items)}")
    return model


TRUTH = Truth(
    fault="the memory holds features with their graphs",
    raises="Trying to backward through the graph a second time",
    names=("items",),
    repair=("self.items.append((item[0].detach(), item[1]))", "self.items[j] = (item[0].detach(), item[1])"),
)
