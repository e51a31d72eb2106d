"""Attention transfer: one hook serves both networks and detaches, so the student's features carry no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ResNetish(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.layer1 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(2 * width, 4)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(F.relu(self.stem(x)))).mean((2, 3)))


class FeatureExtractor:
    def __init__(self, model, layers):
        self.features = {}
        self.handles = [getattr(model, n).register_forward_hook(self.save(n)) for n in layers]

    def save(self, name):
        def hook(module, args, output):
            self.features[name] = output.detach()  # cause

        return hook

    def remove(self):
        for h in self.handles:
            h.remove()


def at(x):
    return F.normalize(x.pow(2).mean(1).flatten(1))


def run():
    torch.manual_seed(0)
    layers = ["layer1", "layer2"]
    teacher, student = ResNetish(8).eval().requires_grad_(False), ResNetish(4)
    t_feats, s_feats = FeatureExtractor(teacher, layers), FeatureExtractor(student, layers)
    opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    beta, loss_at = 1e3, None
    for _ in range(3):
        x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,))
        with torch.no_grad():
            teacher(x)
        logits = student(x)
        loss_ce = F.cross_entropy(logits, y)
        loss_at = sum((at(s_feats.features[n]) - at(t_feats.features[n])).pow(2).mean() for n in layers)
        loss = loss_ce + beta / 2 * loss_at
        opt.zero_grad()
        loss.backward()
        opt.step()
    t_feats.remove()
    s_feats.remove()
    return loss_at


def verify(loss_at):
    assert not loss_at.requires_grad


TRUTH = Truth(
    fault="the student's hooked features are detached: the attention loss is a constant",
    names=("features",),
    repair=("self.features[name] = output",),
)
