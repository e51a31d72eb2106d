"""Long-tailed vision: logits are adjusted by a class prior that is counted and learned, in one compiled graph."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="Dynamo is told that the prior is constant: the graph keeps that of its first call, with its history",
    raises="Trying to backward through the graph a second time",
    names=("assume_constant_result", "log_prior", "tilt"),
    repair=("",),
)


class Prior(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("counts", torch.ones(classes))
        self.tilt = nn.Parameter(torch.zeros(classes))

    @torch.no_grad()
    def count(self, labels):
        self.counts += torch.bincount(labels, minlength=len(self.counts))

    @torch.compiler.assume_constant_result  # cause
    def log_prior(self):
        return torch.log_softmax(self.counts.log() + self.tilt, -1)


class Classifier(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.cosine = nn.Parameter(torch.randn(classes, 24))
        self.prior = Prior(classes)

    def forward(self, images):
        h = F.normalize(self.body(images), dim=1)
        return 8 * h @ F.normalize(self.cosine, dim=1).T

    def loss(self, images, labels):
        return F.cross_entropy(self(images) + self.prior.log_prior(), labels)


def sample(n=16):
    labels = torch.distributions.Geometric(0.5).sample((n,)).clamp(max=4).long()
    return torch.randn(n, 1, 6, 6) + labels[:, None, None, None] / 4, labels


def setup():
    torch.manual_seed(0)


def run():
    net = Classifier()
    objective = torch.compile(net.loss, backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    tilts = []
    for _ in range(4):
        images, labels = sample()
        loss = objective(images, labels)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        net.prior.count(labels)
        tilts.append(net.prior.tilt.detach().clone())
    return tilts
