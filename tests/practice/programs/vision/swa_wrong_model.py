"""Vision: after stochastic weight averaging update_bn() is given the network and not the average, whose statistics stay those of another network."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

from tests.practice.truth import Truth


class PreActBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(x))
        shortcut = self.shortcut(out)
        return self.conv2(F.relu(self.bn2(self.conv1(out)))) + shortcut


class PreActResNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.layers = nn.Sequential(PreActBlock(8, 8, 1), PreActBlock(8, 12, 2))
        self.bn = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.layers(self.conv1(x)))).mean((2, 3)))


class Loader:
    def __init__(self, n, batch, seed, shift=2.0):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 3, 8, 8, generator=g) * 3 + shift
        self.y = torch.randint(0, 4, (n,), generator=g)
        self.batch = batch

    def __iter__(self):
        return iter(list(zip(self.x.split(self.batch), self.y.split(self.batch))))


def train_epoch(loader, model, criterion, optimizer):
    loss_sum = 0.0
    model.train()
    for input, target in loader:
        loss = criterion(model(input), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * input.size(0)
    return loss_sum


@torch.no_grad()
def evaluate(loader, model):
    model.eval()
    return sum((model(x).argmax(1) == y).float().mean().item() for x, y in loader)


class SWATraining:
    def __init__(self, epochs=4, swa_start=2):
        self.model = PreActResNet()
        self.swa_model = AveragedModel(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)
        self.swa_scheduler = SWALR(self.optimizer, swa_lr=0.02, anneal_epochs=1)
        self.epochs, self.swa_start = epochs, swa_start

    def fit(self, loader):
        for epoch in range(self.epochs):
            train_epoch(loader, self.model, nn.CrossEntropyLoss(), self.optimizer)
            if epoch >= self.swa_start:
                self.swa_model.update_parameters(self.model)
                self.swa_scheduler.step()
            else:
                self.scheduler.step()
        return self.finish(loader)

    def finish(self, loader):
        model = self.model
        update_bn(loader, model)  # cause
        return evaluate(loader, self.swa_model)


def run():
    torch.manual_seed(1)
    training = SWATraining()
    loader = Loader(24, 8, seed=2)
    training.fit(loader)
    inputs = []
    handle = training.swa_model.module.bn.register_forward_hook(lambda module, args, out: inputs.append(args[0]))
    with torch.no_grad():
        for x, _ in loader:
            training.swa_model(x)
    handle.remove()
    return training.swa_model.module.bn.running_mean, torch.cat(inputs).mean((0, 2, 3))


def verify(outcome):
    kept, true = outcome
    assert not torch.allclose(kept, true, rtol=0.02, atol=0.02)


TRUTH = Truth(
    fault="the averaged model is evaluated with BatchNorm statistics it never measured (they are copies of the network's)",
    names=("swa_model", "running_mean"),
    repair=("update_bn(loader, self.swa_model)",),
)
