"""Old PyTorch to new: before 1.1 an epoch began with scheduler.step(); kept there, the schedule is a step ahead and skips its first rate."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import lr_scheduler

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(4, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs=3):
    rates = []
    for _ in range(num_epochs):
        for phase in ("train", "val"):
            if phase == "train":
                scheduler.step()  # cause
            model.train(phase == "train")
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = criterion(model(inputs), labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def make_data(batches):
    return [(torch.randn(4, 3, 6, 6), torch.randint(0, 2, (4,))) for _ in range(batches)]


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    data = {"train": make_data(1), "val": make_data(1)}
    return train_model(model, data, F.cross_entropy, optimizer, scheduler)


def verify(rates):
    assert rates[0] == 0.05


TRUTH = Truth(
    fault="the scheduler steps before the optimizer: the initial learning rate is never used",
    names=("scheduler",),
    repair=("if rates:\n    scheduler.step()",),
)
