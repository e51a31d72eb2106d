"""Iterative targeted attack against an image classifier for a robustness report."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SmallCNN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()
        )
        self.classifier = nn.Linear(8, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def project(x_adv, x, eps):
    return torch.max(torch.min(x_adv, x + eps), x - eps).clamp(0.0, 1.0)


def iterative_fgsm(model, images, target, eps=8 / 255, alpha=2 / 255, iters=5):
    was_training = model.training
    model.eval()
    adv = images.clone()
    adv.requires_grad_(True)
    for _ in range(iters):
        loss = F.cross_entropy(model(adv), target)
        model.zero_grad()
        loss.backward()
        step = alpha * adv.grad.sign()  # symptom
        adv = project(adv - step, images, eps)  # cause
    model.train(was_training)
    return adv.detach()


def run():
    torch.manual_seed(2)
    model = SmallCNN()
    images = torch.rand(4, 3, 8, 8)
    target = torch.tensor([0, 1, 2, 3])
    adv = iterative_fgsm(model, images, target)
    return images, adv


TRUTH = Truth(
    fault="after the first update adv is a non-leaf, its grad stays None",
    raises="'NoneType' object has no attribute 'sign'",
    names=("adv",),
    repair=("adv = project(adv - step, images, eps).detach().requires_grad_(True)",),
)


def well(out):
    images, adv = out
    assert (adv - images).abs().max() <= 8 / 255 + 1e-6
    assert (adv != images).any()
