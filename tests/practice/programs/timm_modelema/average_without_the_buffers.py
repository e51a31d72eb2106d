"""timm-like: the EMA model averages the parameters only; its BatchNorm statistics stay at those of initialisation."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv_stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv_head = nn.Conv2d(8, 16, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        x = self.bn1(self.conv_stem(x)).relu()
        x = self.bn2(self.conv_head(x)).relu()
        return self.classifier(x.mean((2, 3)))


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.9, warmup=True):
        super().__init__()
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.warmup, self.step = decay, warmup, 0

    def get_decay(self):
        return min(self.decay, (1 + self.step) / (10 + self.step)) if self.warmup else self.decay

    @torch.no_grad()
    def update(self, model):
        self.step += 1
        d = self.get_decay()
        for ema_v, model_v in zip(self.module.parameters(), model.parameters()):  # cause
            if ema_v.is_floating_point():
                ema_v.lerp_(model_v, 1 - d)  # also
            else:
                ema_v.copy_(model_v)

    def forward(self, *args):
        return self.module(*args)


def train_one_epoch(model, loader, optimizer, ema):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        ema.update(model)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x), y).item() for x, y in loader) / len(loader)


def run():
    torch.manual_seed(0)
    model = ConvNet()
    ema = ModelEma(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    loader = [(torch.randn(8, 3, 12, 12) * 3 + 2, torch.randint(0, 4, (8,))) for _ in range(2)]
    for _ in range(2):
        train_one_epoch(model, loader, optimizer, ema)
        validate(model, loader)
        validate(ema.module, loader)
    return ema.module.bn1.running_mean, ema.module.bn1.running_var, model.bn1.running_mean


def verify(outcome):
    mean, var, live = outcome
    assert torch.equal(mean, torch.zeros(8)) and torch.equal(var, torch.ones(8))
    assert live.abs().max() > 0.1


TRUTH = Truth(
    fault="the EMA takes no buffers: it is evaluated with averaged weights and the running statistics of an untrained model",
    names=("running_mean",),
    repair=("for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):",),
)
