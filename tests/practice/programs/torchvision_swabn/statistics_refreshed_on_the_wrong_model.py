"""SWA: update_bn is called with the model that is trained, while the averaged one is evaluated."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

from tests.practice.truth import Truth

CFG = {"epochs": 4, "swa_start": 2, "swa_lr": 0.02, "lr": 0.05}


class PreActNet(nn.Module):
    def __init__(self, width=8, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.linear = nn.Linear(width, classes)

    def forward(self, x):
        x = self.bn1(self.conv1(x)).relu()
        x = self.bn2(self.conv2(x)).relu()
        return self.linear(x.mean((2, 3)))


def train_epoch(loader, model, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(loader, model):
    model.eval()
    return sum(F.cross_entropy(model(x), y).item() for x, y in loader) / len(loader)


def batch_statistics(model, x):
    with torch.no_grad():
        return model.module.conv1(x).mean((0, 2, 3))


def run():
    torch.manual_seed(0)
    model = PreActNet()
    swa_model = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=CFG["lr"], momentum=0.9)
    swa_scheduler = SWALR(optimizer, swa_lr=CFG["swa_lr"], anneal_epochs=1)
    loader = []
    for _ in range(2):
        y = torch.randint(0, 3, (8,))
        loader.append((torch.randn(8, 3, 8, 8) + 2.0 + y.view(-1, 1, 1, 1), y))
    for epoch in range(CFG["epochs"]):
        train_epoch(loader, model, optimizer)
        if epoch + 1 > CFG["swa_start"]:
            swa_model.update_parameters(model)
            swa_scheduler.step()
            update_bn((x for x, _ in loader), model)  # cause
            evaluate(loader, swa_model)
    true_mean = batch_statistics(swa_model, torch.cat([x for x, _ in loader]))
    return swa_model.module.bn1.running_mean.clone(), true_mean


def verify(outcome):
    kept, true_mean = outcome
    assert (kept - true_mean).abs().max() > 0.1


TRUTH = Truth(
    fault="update_bn refreshes the BatchNorm of the trained model; swa_model is evaluated with the statistics it was copied with",
    names=("swa_model", "update_bn"),
    repair=("update_bn((x for x, _ in loader), swa_model)",),
)
