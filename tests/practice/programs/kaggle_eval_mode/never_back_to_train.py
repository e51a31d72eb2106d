"""Training with validation: model.eval() is called for the validation, and train() only once before the epochs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

CONFIG = {"seed": 7, "epochs": 3, "lr": 5e-3, "batch": 12}


class CNN(nn.Module):
    def __init__(self, n_classes=2):
        super().__init__()
        self.block1 = self._block(1, 4)
        self.block2 = self._block(4, 8)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(8, n_classes)

    @staticmethod
    def _block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))

    def forward(self, x):
        x = self.block2(self.block1(x))
        return self.fc(self.drop(x.mean((2, 3))))


def bars(n):
    x = torch.rand(n, 1, 8, 8) * 0.3
    y = torch.randint(0, 2, (n,))
    for i, k in enumerate(y):
        if k:
            x[i, 0, 3] += 1
        else:
            x[i, 0, :, 3] += 1
    return x, y


def validate(model, x, y):
    model.eval()  # also
    with torch.no_grad():
        return F.cross_entropy(model(x), y).item()


def fit(model, train, valid):
    opt = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
    seen = []
    model.train()
    for epoch in range(CONFIG["epochs"]):  # cause
        for x, y in zip(train[0].split(CONFIG["batch"]), train[1].split(CONFIG["batch"])):
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
        seen.append(model.block1[1].num_batches_tracked.item())
        validate(model, *valid)
    return seen


def run():
    torch.manual_seed(CONFIG["seed"])
    model = CNN()
    return fit(model, bars(36), bars(12))


def verify(seen):
    assert seen == [3, 3, 3], seen


TRUTH = Truth(
    fault="validate() leaves the model in eval mode, and no later epoch calls train(): batch norm and dropout are off from epoch two",
    names=("eval",),
    repair=('for epoch in range(CONFIG["epochs"]):\n    model.train()',),
)
