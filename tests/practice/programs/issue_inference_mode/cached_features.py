"""Linear probe on cached features: they were computed under inference_mode, and cannot be saved for backward."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class FrozenTrunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, 2)
        self.bn = nn.BatchNorm2d(6)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x))).mean((2, 3))


class FeatureCache:
    def __init__(self, trunk):
        self.trunk = trunk.eval().requires_grad_(False)
        self.store = {}

    @torch.inference_mode()  # cause
    def __call__(self, key, img):
        if key not in self.store:
            self.store[key] = self.trunk(img)
        return self.store[key]


class Probe(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.norm = nn.LayerNorm(6, elementwise_affine=False)
        self.fc = nn.Linear(6, n_classes)

    def forward(self, f):
        return self.fc(f)


def loader(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    for i in range(n):
        yield i, torch.rand(5, 3, 9, 9, generator=g), torch.randint(0, 4, (5,), generator=g)


def train(probe, cache, epochs):
    opt = torch.optim.SGD(probe.parameters(), lr=0.1)
    last = None
    for epoch in range(epochs):
        for key, img, label in loader(2):
            feat = cache(key, img)
            loss = nn.functional.cross_entropy(probe(feat), label)  # symptom
            opt.zero_grad()
            loss.backward()
            opt.step()
            last = loss.item()
    return last


def run():
    torch.manual_seed(0)
    return train(Probe(), FeatureCache(FrozenTrunk()), epochs=2)


TRUTH = Truth(
    fault="features made under inference_mode are inference tensors; the trainable layer cannot save them for its backward",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("@torch.no_grad()",),
)
