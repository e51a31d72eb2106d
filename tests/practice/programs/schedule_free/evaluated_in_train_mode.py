"""Schedule-free AdamW: the model is evaluated and saved without optimizer.eval(), at the wrong one of its two points."""

import torch
from schedulefree import AdamWScheduleFree
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLPMixer(nn.Module):
    def __init__(self, patches=9, dim=12, classes=4):
        super().__init__()
        self.embed = nn.Linear(4, dim)
        self.token = nn.Sequential(nn.Linear(patches, 16), nn.GELU(), nn.Linear(16, patches))
        self.channel = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x)
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channel(self.norm2(x))
        return self.head(x.mean(1))


def accuracy(model, loader):
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


class Experiment:
    def __init__(self, lr=1e-2, warmup=2):
        self.model = MLPMixer()
        self.optimizer = AdamWScheduleFree(self.model.parameters(), lr=lr, warmup_steps=warmup, weight_decay=0.01)
        self.best, self.best_state, self.modes = -1.0, None, []

    def train_epoch(self, loader):
        self.model.train()
        self.optimizer.train()
        for x, y in loader:
            self.optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()

    def validate(self, loader):
        self.model.eval()  # cause
        self.modes.append(self.optimizer.param_groups[0]["train_mode"])
        value = accuracy(self.model, loader)  # also
        if value > self.best:
            self.best = value
            self.best_state = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        return value

    def fit(self, train, val, epochs):
        for _ in range(epochs):
            self.train_epoch(train)
            self.validate(val)
        self.model.load_state_dict(self.best_state)


def batches(n):
    return [(torch.randn(6, 9, 4), torch.randint(0, 4, (6,))) for _ in range(n)]


def run():
    torch.manual_seed(0)
    experiment = Experiment()
    experiment.fit(batches(3), batches(1), epochs=2)
    return experiment.modes


def verify(outcome):
    assert outcome == [True, True], outcome


TRUTH = Truth(
    fault="optimizer.eval() is not called before the evaluation: the weights are y, not the average x",
    names=("eval", "AdamWScheduleFree"),
    repair=("self.model.eval()\nself.optimizer.eval()",),
)
