"""Memory-efficient DenseNet: the checkpointed bottleneck holds BatchNorm, whose statistics take each batch twice."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class DenseLayer(nn.Module):
    def __init__(self, cin, growth, efficient):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(cin), nn.Conv2d(cin, 2 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(2 * growth), nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False)
        self.efficient = efficient

    def bottleneck(self, *features):
        return self.conv1(self.norm1(torch.cat(features, 1)).relu())

    def forward(self, features):
        if self.efficient and self.training and any(f.requires_grad for f in features):
            x = checkpoint(self.bottleneck, *features, use_reentrant=False)  # cause
        else:
            x = self.bottleneck(*features)
        return self.conv2(self.norm2(x).relu())


class DenseNet(nn.Module):
    def __init__(self, growth=4, layers=3, classes=3, efficient=True):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 8, 3, padding=1)
        self.denseblock = nn.ModuleList(DenseLayer(8 + i * growth, growth, efficient) for i in range(layers))
        self.norm_final = nn.BatchNorm2d(8 + layers * growth)
        self.classifier = nn.Linear(8 + layers * growth, classes)

    def forward(self, x):
        features = [self.conv0(x)]
        for layer in self.denseblock:
            features.append(layer(features))
        x = self.norm_final(torch.cat(features, 1)).relu()
        return self.classifier(x.mean((2, 3)))


def train_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def test_epoch(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x), y).item() for x, y in loader)


def run():
    torch.manual_seed(0)
    model = DenseNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    loader = [(torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4,))) for _ in range(3)]
    train_epoch(model, loader, optimizer)
    test_epoch(model, loader)
    layer = model.denseblock[0]
    return int(layer.norm1.num_batches_tracked), int(layer.norm2.num_batches_tracked), len(loader)


def verify(outcome):
    inside, outside, batches = outcome
    assert inside == 2 * batches and outside == batches


TRUTH = Truth(
    fault="the forward that checkpoint repeats in backward updates norm1's running statistics a second time for each batch",
    names=("norm1",),
    minor=True,
    repair=("x = self.bottleneck(*features)",),
)
