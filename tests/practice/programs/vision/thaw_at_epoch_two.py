"""Vision: the backbone is to thaw at one epoch; a run resumed behind it freezes again and never comes to that epoch."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU())
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.backbone(x).mean((2, 3)))


class BackboneFinetuning:
    """Frozen at first; joins with a smaller rate at `unfreeze_at`."""

    def __init__(self, unfreeze_at, ratio=0.1):
        self.unfreeze_at, self.ratio = unfreeze_at, ratio

    def setup(self, model):
        model.backbone.requires_grad_(False)  # also

    def on_epoch_start(self, epoch, model, optimizer):
        if epoch == self.unfreeze_at:  # cause
            model.backbone.requires_grad_(True)
            optimizer.param_groups[1]["lr"] = optimizer.param_groups[0]["lr"] * self.ratio


class Loop:
    def __init__(self, callback):
        self.model = Net()
        self.optimizer = torch.optim.SGD(
            [
                {"params": self.model.head.parameters(), "lr": 0.1},
                {"params": self.model.backbone.parameters(), "lr": 0.0},
            ],
            momentum=0.9,
        )
        self.callback = callback
        self.epoch = 0
        callback.setup(self.model)

    def state(self):
        return copy.deepcopy(
            {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}
        )

    def resume(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch = state["epoch"]

    def fit(self, epochs, batches=2):
        while self.epoch < epochs:
            self.callback.on_epoch_start(self.epoch, self.model, self.optimizer)
            for _ in range(batches):
                x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.epoch += 1


def run():
    torch.manual_seed(0)
    first = Loop(BackboneFinetuning(unfreeze_at=2))
    first.fit(epochs=3)
    checkpoint = first.state()  # the machine is taken away here

    second = Loop(BackboneFinetuning(unfreeze_at=2))
    second.resume(checkpoint)
    before = copy.deepcopy(second.model.state_dict())
    second.fit(epochs=5)
    after = second.model.state_dict()
    lr = second.optimizer.param_groups[1]["lr"]
    return {k: torch.equal(before[k], after[k]) for k in before}, lr


def verify(outcome):
    same, lr = outcome
    assert lr > 0
    assert all(kept == name.startswith("backbone") for name, kept in same.items())


TRUTH = Truth(
    fault="setup freezes the backbone in the resumed run, and only the epoch equal to unfreeze_at would thaw it",
    names=("backbone",),
    repair=("if epoch >= self.unfreeze_at and not model.backbone[0].weight.requires_grad:",),
)
