"""Validation gives another result at each call: F.dropout is called without training=self.training."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Highway(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.carry = nn.Linear(dim, dim)
        nn.init.constant_(self.carry.bias, -1.0)
        self.p = p

    def forward(self, x):
        t = torch.sigmoid(self.carry(x))
        h = F.relu(self.transform(x))
        h = F.dropout(h, self.p)  # cause
        return t * h + (1 - t) * x


class Tagger(nn.Module):
    def __init__(self, n_words=25, dim=10, n_tags=4, n_layers=2):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim)
        self.drop = nn.Dropout(0.2)
        self.layers = nn.ModuleList(Highway(dim, 0.3) for _ in range(n_layers))
        self.tag = nn.Linear(dim, n_tags)

    def forward(self, words):
        h = self.drop(self.embed(words))
        for layer in self.layers:
            h = layer(h)
        return self.tag(h)


def evaluate(model, words, tags):
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(words).transpose(1, 2), tags)
    model.train()
    return loss.item()


def run():
    torch.manual_seed(4)
    words = torch.randint(0, 25, (8, 6))
    tags = words % 4
    model = Tagger()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    history = []
    for epoch in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(words).transpose(1, 2), tags).backward()
        optimizer.step()
        history.append((evaluate(model, words, tags), evaluate(model, words, tags)))
    return history


def verify(history):
    assert all(a != b for a, b in history), history


TRUTH = Truth(
    fault="F.dropout defaults to training=True, so dropout stays on in eval mode",
    names=("dropout",),
    repair=("h = F.dropout(h, self.p, training=self.training)",),
)
