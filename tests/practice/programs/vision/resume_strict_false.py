"""Vision: strict=False, added to the resume for a new head, hides that no key of the checkpoint fits."""

import os
import tempfile
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    arch_width: int = 8
    num_classes: int = 5
    new_classes: int = 3
    lr: float = 0.05
    epochs: int = 2


class InvertedResidual(nn.Module):
    def __init__(self, c, expand=2):
        super().__init__()
        h = c * expand
        self.conv = nn.Sequential(
            nn.Conv2d(c, h, 1, bias=False),
            nn.BatchNorm2d(h),
            nn.ReLU6(inplace=True),
            nn.Conv2d(h, h, 3, padding=1, groups=h, bias=False),
            nn.BatchNorm2d(h),
            nn.ReLU6(inplace=True),
            nn.Conv2d(h, c, 1, bias=False),
            nn.BatchNorm2d(c),
        )

    def forward(self, x):
        return x + self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), InvertedResidual(width), InvertedResidual(width))
        self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, num_classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class Wrapped(nn.Module):
    """Stands for DataParallel: it holds the network as .module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def train(model, optimizer, data, epochs):
    model.train()
    for _ in range(epochs):
        for x, y in data:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def save_checkpoint(state, path):
    torch.save(state, path)


def pretrain(args, path):
    model = Wrapped(MobileNetV2(args.arch_width, args.num_classes))
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    data = [(torch.randn(8, 3, 12, 12), torch.randint(args.num_classes, (8,))) for _ in range(2)]
    train(model, optimizer, data, args.epochs)
    save_checkpoint({"epoch": args.epochs, "state_dict": model.state_dict()}, path)
    return model.module


def filter_head(state):
    return {k: v for k, v in state.items() if "classifier" not in k}


def resume(model, path):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    state = filter_head(checkpoint["state_dict"])
    model.load_state_dict(state, strict=False)  # cause
    return checkpoint["epoch"]


def finetune(args, path):
    model = MobileNetV2(args.arch_width, args.new_classes)
    start_epoch = resume(model, path)
    loaded = {k: v.clone() for k, v in model.features.state_dict().items()}
    optimizer = torch.optim.SGD(
        [{"params": model.features.parameters(), "lr": args.lr / 10}, {"params": model.classifier.parameters()}],
        lr=args.lr,
    )
    data = [(torch.randn(8, 3, 12, 12), torch.randint(args.new_classes, (8,))) for _ in range(2)]
    train(model, optimizer, data, epochs=1)
    return start_epoch, loaded


def run():
    torch.manual_seed(0)
    args = Args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth.tar")
        old = pretrain(args, path)
        epoch, loaded = finetune(args, path)
    return epoch, loaded, old.features.state_dict()


def verify(outcome):
    epoch, loaded, saved = outcome
    assert epoch == 2
    weights = [k for k in saved if k.endswith("weight") and saved[k].ndim == 4]
    assert weights and all(not torch.equal(loaded[k], saved[k]) for k in weights)


TRUTH = Truth(
    fault="all keys begin with 'module.': with strict=False load_state_dict loads nothing and says nothing",
    names=("load_state_dict",),
    repair=('model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()}, strict=False)',),
)
