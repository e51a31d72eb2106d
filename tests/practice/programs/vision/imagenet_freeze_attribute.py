"""Vision: requires_grad is set on a module instead of its parameters, so nothing is frozen."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from tests.practice.truth import Truth


@dataclass
class Args:
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    epochs: int = 2
    batch_size: int = 16
    freeze_features: bool = True
    num_classes: int = 4


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(BasicBlock(3, 8), BasicBlock(8, 16, 2))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.avgpool(self.features(x)).flatten(1))


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def build_model(args):
    model = ResNet(args.num_classes)
    if args.freeze_features:
        model.features.requires_grad = False  # cause
    return model


def accuracy(output, target):
    with torch.no_grad():
        return (output.argmax(1) == target).float().mean().item() * 100


def train(loader, model, criterion, optimizer):
    losses, top1 = AverageMeter(), AverageMeter()
    model.train()
    for images, target in loader:
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(output, target), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses.avg, top1.avg


def run():
    torch.manual_seed(0)
    args = Args()
    model = build_model(args)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    data = TensorDataset(torch.randn(32, 3, 10, 10), torch.randint(args.num_classes, (32,)))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True)
    before = [p.detach().clone() for p in model.features.parameters()]
    for _ in range(args.epochs):
        train(loader, model, criterion, optimizer)
        scheduler.step()
    return before, [p.detach() for p in model.features.parameters()]


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="`module.requires_grad = False` only makes an attribute: the features that were to be frozen train on",
    names=("features", "requires_grad"),
    repair=("model.features.requires_grad_(False)",),
)
