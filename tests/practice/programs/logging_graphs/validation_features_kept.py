"""Features of every validation batch are kept with their graphs, for a t-SNE at the end."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        z = self.conv(x)
        return self.head(z), z


class Run:
    def __init__(self):
        self.model = Encoder()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.features = []

    def train_epoch(self, batches):
        self.model.train()
        for x, y in batches:
            logits, _ = self.model(x)
            loss = nn.functional.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def validate(self, batches):
        self.model.eval()
        right = 0
        for x, y in batches:
            logits, z = self.model(x)
            right += (logits.argmax(1) == y).sum().item()
            self.features.append(z)  # cause
        return right


def run():
    torch.manual_seed(0)
    this = Run()
    make = lambda n: [(torch.randn(4, 1, 8, 8), torch.randint(3, (4,))) for _ in range(n)]
    for _ in range(4):
        this.train_epoch(make(2))
        this.validate(make(3))
    return this.features


TRUTH = Truth(
    fault="a graph of each batch stays alive",
    names=("features",),
    repair=("self.features.append(z.detach())",),
)


def verify(features):
    assert all(z.grad_fn is not None for z in features)
