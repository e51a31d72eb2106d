"""MC dropout: to keep dropout on, the whole model is put in train mode, and the pool of candidates moves BatchNorm's statistics."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class BayesianCNN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.drop(self.norm(self.conv(x)).relu().mean((2, 3))))


@torch.no_grad()
def mc_samples(model, x, n):
    model.train()  # cause
    samples = torch.stack([model(x).softmax(-1) for _ in range(n)])
    model.eval()
    return samples


def bald(samples):
    mean = samples.mean(0)
    entropy = -(mean * (mean + 1e-9).log()).sum(-1)
    return entropy + (samples * (samples + 1e-9).log()).sum(-1).mean(0)


class ActiveLearner:
    def __init__(self, pool, labels):
        self.pool, self.labels = pool, labels
        self.known = list(range(8))
        self.model = BayesianCNN()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def train(self, epochs):
        self.model.train()
        for _ in range(epochs):
            x, y = self.pool[self.known], self.labels[self.known]
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()

    def acquire(self, k=4):
        unknown = [i for i in range(len(self.pool)) if i not in self.known]
        scores = bald(mc_samples(self.model, self.pool[unknown], n=5))
        self.known += [unknown[i] for i in scores.topk(k).indices.tolist()]


def run():
    torch.manual_seed(0)
    pool = torch.randn(32, 1, 6, 6)
    pool[8:] += 3.0  # the pool is not like the seed set
    learner = ActiveLearner(pool, torch.randint(0, 4, (32,)))
    drift = []
    for _ in range(2):
        learner.train(epochs=2)
        before = learner.model.norm.running_mean.clone()
        learner.acquire()
        drift.append((learner.model.norm.running_mean - before).abs().max().item())
    return drift


def verify(outcome):
    assert all(d > 1e-3 for d in outcome)


TRUTH = Truth(
    fault="model.train() for the dropout samples also sets BatchNorm to train mode: unlabelled candidates move its running statistics",
    names=("norm", "train"),
    repair=("model.eval()\nmodel.drop.train()",),
)
