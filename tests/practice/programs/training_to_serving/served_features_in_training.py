"""Serving to training: the feature service runs under inference_mode; its tensors are now fed to a head that is trained."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class FeatureService:
    """Answers requests; keeps the features of what it has seen."""

    def __init__(self, backbone):
        self.backbone = backbone.eval()
        self.cache = {}

    @torch.inference_mode()  # also
    def __call__(self, key, image):
        if key not in self.cache:
            self.cache[key] = F.normalize(self.backbone(image[None]), dim=-1)[0]
        return self.cache[key]


def fetch(service, images, keys):
    return [service(key, images[key]) for key in keys]  # cause


def fine_tune(service, head, images, labels, steps=2):
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(steps):
        keys = torch.randperm(len(images))[:6].tolist()
        features = fetch(service, images, keys)
        logits = torch.stack([head(feature) for feature in features])  # symptom
        loss = F.cross_entropy(logits, labels[keys])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head.weight.grad


def run():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh())
    images, labels = torch.randn(12, 4, 4), torch.randint(0, 3, (12,))
    return fine_tune(FeatureService(backbone), nn.Linear(8, 3), images, labels)


TRUTH = Truth(
    fault="features made under inference_mode cannot be saved for the backward of the head",
    raises="Inference tensors cannot be saved for backward",
    names=("inference",),
    repair=("return [service(key, images[key]).clone() for key in keys]",),
)
