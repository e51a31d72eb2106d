"""A universal perturbation is the only leaf that learns; the classifier is frozen and in eval mode on purpose."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class UniversalNoise(nn.Module):
    def __init__(self, shape, eps):
        super().__init__()
        self.delta = nn.Parameter(torch.zeros(shape))
        self.eps = eps

    def forward(self, x):
        return (x + self.delta).clamp(0, 1)

    @torch.no_grad()
    def project_(self):
        self.delta.data = self.delta.data.clamp(-self.eps, self.eps)


def fooling_rate(classifier, noise, x):
    with torch.inference_mode():
        clean = classifier(x).argmax(1)
        return (classifier(noise(x)).argmax(1) != clean).float().mean().item()


def run():
    torch.manual_seed(0)
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 5))
    classifier.eval().requires_grad_(False)
    noise = UniversalNoise((1, 4, 4), eps=0.3)
    optimizer = torch.optim.SGD(noise.parameters(), lr=1.0)
    x_val = torch.rand(16, 4, 4)
    rates = [fooling_rate(classifier, noise, x_val)]
    for _ in range(4):
        x = torch.rand(16, 4, 4)
        labels = classifier(x).argmax(1)
        loss = -F.cross_entropy(classifier(noise(x)), labels).clamp(max=5.0)
        optimizer.zero_grad()
        loss.backward()
        noise.delta.grad.sign_()
        optimizer.step()
        noise.project_()
        rates.append(fooling_rate(classifier, noise, x_val))
    return classifier, noise, rates


TRUTH = Truth()


def verify(out):
    classifier, noise, rates = out
    assert rates[0] == 0 and 0 < noise.delta.abs().max() <= 0.3 + 1e-6
    assert all(p.grad is None for p in classifier.parameters())
