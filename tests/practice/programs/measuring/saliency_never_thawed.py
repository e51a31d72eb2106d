"""Saliency maps during training: parameters are frozen for speed, and the thaw looks only at those that are trainable."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TinyCNN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()
        )
        self.classifier = nn.Linear(6, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class Saliency:
    """|d score / d pixel|; gradients of the convolutions are not needed for it."""

    def __init__(self, model):
        self.model = model

    def freeze(self):
        for p in self.model.features.parameters():
            p.requires_grad = False

    def thaw(self):
        for p in self.model.features.parameters():
            if p.requires_grad:  # cause
                p.requires_grad = True

    def __call__(self, image, target):
        self.freeze()
        image = image.clone().requires_grad_()
        score = self.model(image[None])[0, target]
        (grad,) = torch.autograd.grad(score, image)
        self.thaw()
        return grad.abs().amax(0)


def epoch(model, optimizer, steps=2):
    for _ in range(steps):
        y = torch.randint(0, 3, (12,))
        x = torch.randn(12, 1, 6, 6) + y.view(-1, 1, 1, 1)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = TinyCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    saliency = Saliency(model)
    still = []
    for _ in range(2):
        before = [p.detach().clone() for p in model.features.parameters()]
        epoch(model, optimizer)
        still.append(all(torch.equal(a, b) for a, b in zip(before, model.features.parameters())))
        heat = saliency(torch.randn(1, 6, 6), target=1)
        assert heat.shape == (6, 6)
    return still


def verify(outcome):
    assert outcome == [False, True]


TRUTH = Truth(
    fault="after the first saliency map the convolutions stay frozen: the thaw skips what does not require grad",
    names=("features",),
    repair=("if p.dtype.is_floating_point:",),
)
