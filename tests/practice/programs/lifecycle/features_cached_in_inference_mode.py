"""Linear probing: the features cached at validation are inference tensors and cannot enter the training graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Frozen(nn.Module):
    def __init__(self, dim=6, width=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.Tanh())
        self.requires_grad_(False)

    def forward(self, x):
        return self.net(x)


class FeatureCache:
    """Each sample passes the backbone once in the whole run."""

    def __init__(self, backbone, data):
        self.backbone, self.data, self.store = backbone, data, {}

    def get(self, index):
        missing = [i for i in index if i not in self.store]
        if missing:
            for i, h in zip(missing, self.backbone(self.data[missing])):
                self.store[i] = h
        return torch.stack([self.store[i] for i in index])

    def single(self, i):
        self.get([i])
        return self.store[i]


class Probe(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.attend = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, h):
        return self.out(h * self.attend(h).sigmoid())


def validate(probe, cache, labels):
    correct = 0
    with torch.inference_mode():  # cause
        for i in range(12, 20):
            correct += int(probe(cache.single(i)).argmax() == labels[i])
    return correct / 8


def run():
    torch.manual_seed(0)
    data = torch.randn(20, 6)
    labels = (data[:, 0] > 0).long()
    cache, probe = FeatureCache(Frozen(), data), Probe()
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
    scores = []
    for epoch in range(3):
        order = list(range(12)) if epoch < 2 else list(range(20))  # the last epoch uses everything
        for i in order:
            optimizer.zero_grad()
            logits = probe(cache.single(i))  # symptom
            F.cross_entropy(logits, labels[i]).backward()
            optimizer.step()
        scores.append(validate(probe, cache, labels))
    return scores


TRUTH = Truth(
    fault="the cache is filled under inference_mode; the last epoch trains on those tensors",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("with torch.no_grad():",),
)
