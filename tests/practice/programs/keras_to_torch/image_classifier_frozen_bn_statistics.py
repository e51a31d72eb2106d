"""Keras to PyTorch: a frozen BatchNorm runs in inference mode in Keras; here model.train() lets its running statistics drift."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )


class TransferModel(nn.Module):
    """base_model.trainable = False; x = base_model(x); Dense(5)(x)."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        for weight in self.base.parameters():
            weight.requires_grad = False
        self.top = nn.Linear(8, 5)

    def forward(self, images):
        return self.top(self.base(images))


def pretrained_backbone():
    base = Backbone()
    base[1].running_mean.normal_(0.0, 0.1)
    base[1].running_var.uniform_(0.5, 1.5)
    return base


def fit(model, data, epochs=1):
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    for _ in range(epochs):
        model.train()  # cause
        for images, labels in data:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
        model.eval()


def run():
    torch.manual_seed(0)
    model = TransferModel(pretrained_backbone())
    before = model.base[1].running_mean.clone()
    data = [(torch.rand(6, 3, 8, 8) + 0.5, torch.randint(0, 5, (6,))) for _ in range(3)]
    fit(model, data)
    return before, model.base[1].running_mean.clone()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before, after)


TRUTH = Truth(
    minor=True,
    fault="the running statistics of the frozen backbone's BatchNorm are updated in training mode",
    names=("base.1",),
    repair=("model.train()\nmodel.base.eval()",),
)
