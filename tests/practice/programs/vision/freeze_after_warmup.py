"""Vision: the stem is frozen after the warm-up, but its gradients stay as zeros and momentum and decay move it on."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Stage(nn.Module):
    def __init__(self, inp, out, stride):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, stride=stride, padding=1)
        self.norm = nn.GroupNorm(2, out)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Backbone(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = Stage(3, 6, 1)
        self.layer1 = Stage(6, 8, 2)
        self.layer2 = Stage(8, 8, 2)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.layer2(self.layer1(self.stem(x))).mean((2, 3)))


class FreezeSchedule:
    """epoch -> names of the stages that stop learning there."""

    def __init__(self, model, plan):
        self.model, self.plan = model, plan
        self.snapshots = {}

    def apply(self, epoch):
        for name in self.plan.get(epoch, ()):
            stage = getattr(self.model, name)
            for p in stage.parameters():
                p.requires_grad_(False)  # also
            self.snapshots[name] = stage.conv.weight.detach().clone()


def epoch_of(model, optimizer, batches=2):
    for _ in range(batches):
        x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 3, (6,))
        optimizer.zero_grad(set_to_none=False)  # cause
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def run(epochs=4):
    torch.manual_seed(0)
    model = Backbone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = FreezeSchedule(model, {1: ("stem",), 3: ("layer1",)})
    for epoch in range(epochs):
        schedule.apply(epoch)
        epoch_of(model, optimizer)
    return schedule.snapshots["stem"], model.stem.conv.weight.detach(), model.stem.conv.weight.requires_grad


def verify(outcome):
    frozen, now, requires_grad = outcome
    assert not requires_grad
    assert (frozen - now).abs().max() > 1e-3


TRUTH = Truth(
    fault="a frozen parameter with a gradient of zeros is still stepped: the momentum of the warm-up and weight decay move the stem",
    names=("stem",),
    repair=("optimizer.zero_grad(set_to_none=True)",),
)
