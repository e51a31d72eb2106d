"""The optimizer is made anew when the net is unfrozen; the scheduler still turns the old one's learning rate."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(4, 2)

    def forward(self, x):
        return self.classifier(self.features(x))


def run():
    torch.manual_seed(0)
    model = Net()
    model.features.requires_grad_(False)
    optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)  # also
    rates = []
    for epoch in range(6):
        if epoch == 2:
            model.features.requires_grad_(True)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # cause
        loss = nn.functional.cross_entropy(model(torch.randn(4, 1, 8, 8)), torch.randint(2, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # also
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


TRUTH = Truth(
    fault="the scheduler has an optimizer that no longer steps",
    names=("scheduler",),
    repair=(
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)\n"
        "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)",
    ),
)


def verify(rates):
    assert rates[2:] == [0.05] * 4
