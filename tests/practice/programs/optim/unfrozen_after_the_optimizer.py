"""Fine-tuning: the optimizer is given what requires grad at the start; the last block is thawed later."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return self.layer2(self.layer1(x)).flatten(1)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def run():
    torch.manual_seed(0)
    backbone, head = Backbone(), nn.Linear(8, 2)
    set_trainable(backbone, False)
    model = nn.Sequential(backbone, head)
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-3)  # also
    criterion = nn.CrossEntropyLoss()
    before = backbone.layer2[0].weight.detach().clone()
    for epoch in range(3):
        if epoch == 1:
            set_trainable(backbone.layer2, True)  # cause
        x, y = torch.randn(4, 3, 8, 8), torch.randint(2, (4,))
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    return torch.equal(before, backbone.layer2[0].weight)


TRUTH = Truth(
    fault="the thawed block is in no optimizer",
    names=("layer2",),
    repair=(
        "set_trainable(backbone.layer2, True); optimizer.add_param_group({'params': backbone.layer2.parameters()})",
    ),
)


def verify(still):
    assert still
