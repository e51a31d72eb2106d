"""Vision: with a schedule-free optimizer the model is evaluated and saved without optimizer.eval(): the wrong weights."""

import io

import schedulefree
import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TinyViT(nn.Module):
    def __init__(self, dim=16, classes=4):
        super().__init__()
        self.patches = nn.Conv2d(1, dim, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.cls.expand(len(x), -1, -1), h], dim=1)
        return self.head(self.block(h)[:, 0])


class Experiment:
    def __init__(self, lr=5e-2):
        self.model = TinyViT()
        self.optimizer = schedulefree.AdamWScheduleFree(self.model.parameters(), lr=lr, warmup_steps=1)
        self.best = float("inf")
        self.file = None

    def train_epoch(self, batches):
        self.model.train()
        self.optimizer.train()
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self, batches):
        self.model.eval()  # cause
        loss = sum(F.cross_entropy(self.model(x), y).item() for x, y in batches) / len(batches)  # also
        if loss < self.best or self.file is None:
            self.best = loss
            self.file = io.BytesIO()
            torch.save(self.model.state_dict(), self.file)  # also
        return loss


def images(batches, n=8):
    return [(torch.randn(n, 1, 8, 8), torch.randint(0, 4, (n,))) for _ in range(batches)]


def run():
    torch.manual_seed(0)
    experiment = Experiment()
    held_out = images(1)
    gaps = []
    for _ in range(2):
        experiment.file = None
        experiment.train_epoch(images(3))
        experiment.validate(held_out)
        experiment.file.seek(0)
        saved = torch.load(experiment.file, weights_only=True)
        experiment.optimizer.eval()
        average = experiment.model.state_dict()
        gaps.append(max((saved[k] - average[k]).abs().max().item() for k in saved))
    return gaps


def verify(outcome):
    assert all(gap > 1e-3 for gap in outcome)


TRUTH = Truth(
    fault="without optimizer.eval() the parameters hold the point where gradients are taken, not the average that is to be used",
    names=("eval",),
    repair=("self.model.eval()\nself.optimizer.eval()",),
)
