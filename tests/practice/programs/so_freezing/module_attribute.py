"""Transfer learning: "frozen layers change nevertheless": requires_grad is set as an attribute of the module."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, stride=2)
        self.conv2 = nn.Conv2d(4, 8, 3, stride=2)

    def forward(self, img):
        out = F.relu(self.conv1(img))
        out = F.relu(self.conv2(out))
        return out.flatten(1)


class Classifier(nn.Module):
    def __init__(self, extractor, n_classes):
        super().__init__()
        self.extractor = extractor
        self.fc = nn.Linear(8 * 2 * 2, n_classes)

    def forward(self, img):
        return self.fc(self.extractor(img))


def freeze(module):
    for child in module.children():
        child.requires_grad = False  # cause


def pretrained():
    torch.manual_seed(123)
    return Extractor()


def run():
    model = Classifier(pretrained(), n_classes=3)
    freeze(model.extractor)
    before = copy.deepcopy(model.extractor.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    torch.manual_seed(0)
    images = torch.rand(12, 1, 12, 12)
    labels = torch.arange(12) % 3
    for epoch in range(2):
        for start in range(0, 12, 6):
            optimizer.zero_grad()
            output = model(images[start : start + 6])
            loss = F.nll_loss(F.log_softmax(output, dim=1), labels[start : start + 6])
            loss.backward()
            optimizer.step()

    after = model.extractor.state_dict()
    return {k: (after[k] - before[k]).abs().max().item() for k in before}


def verify(change):
    assert change["conv1.weight"] > 0 and change["conv2.weight"] > 0


TRUTH = Truth(
    fault="child.requires_grad = False sets a mere attribute of the module; its parameters still require grad and are trained",
    names=("requires_grad",),
    repair=("child.requires_grad_(False)",),
)
