"""Transfer: features are cached under inference_mode(), and such tensors may not be saved for a backward."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.stage = nn.Sequential(nn.Conv2d(width, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())

    def forward(self, x):
        return self.stage(self.stem(x)).flatten(1)


class FeatureCache:
    """Outputs of the frozen backbone, computed the first time an image is asked for."""

    def __init__(self, backbone, images, chunk=8):
        self.backbone, self.images, self.chunk = backbone.eval().requires_grad_(False), images, chunk
        self.features = None

    @torch.inference_mode()  # cause
    def extract(self):
        return torch.cat([self.backbone(part) for part in self.images.split(self.chunk)])

    def __getitem__(self, index):
        if self.features is None:
            self.features = self.extract()
        return self.features[index]


class Adapter(nn.Module):
    """Tip-Adapter style: keys made of the cached features, plus a linear probe."""

    def __init__(self, dim, classes, shots, beta=2.0):
        super().__init__()
        self.probe = nn.Linear(dim, classes)
        self.keys = nn.Parameter(torch.randn(shots, dim) * 0.02)
        self.register_buffer("values", F.one_hot(torch.arange(shots) % classes, classes).float())
        self.beta, self.alpha = beta, nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        affinity = F.normalize(x, dim=-1) @ F.normalize(self.keys, dim=-1).t()
        cache_logits = torch.exp(-self.beta * (1 - affinity)) @ self.values
        return self.probe(x) + self.alpha * cache_logits


def loader(n, batch):
    for start in (torch.randperm(n // batch) * batch).tolist():
        yield slice(start, start + batch)


def fit(adapter, cache, labels, epochs, lr=1e-2):
    optimizer = torch.optim.AdamW(adapter.parameters(), lr=lr, eps=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * 3)
    losses = []
    for _ in range(epochs):
        adapter.train()
        for index in loader(len(labels), 8):
            logits = adapter(cache[index])  # symptom
            loss = F.cross_entropy(logits, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    images, labels = torch.randn(24, 3, 8, 8), torch.randint(0, 4, (24,))
    cache = FeatureCache(Backbone(), images)
    adapter = Adapter(12 * 4, 4, shots=8)
    return fit(adapter, cache, labels, epochs=2)


TRUTH = Truth(
    fault="the cached features are inference tensors",
    raises="Inference tensors cannot be saved for backward",
    names=("inference_mode",),
    repair=("@torch.no_grad()",),
)
