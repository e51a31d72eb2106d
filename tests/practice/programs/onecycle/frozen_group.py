"""OneCycleLR writes its own learning rates: the group frozen with lr=0 starts to move."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import OneCycleLR

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.ReLU())
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.GroupNorm(2, 8), nn.ReLU())

    def forward(self, x):
        return self.layer1(self.stem(x)).mean((2, 3))


class PlantDisease(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


class Learner:
    """In the manner of fastai: freeze() trains the head, unfreeze() all of it."""

    def __init__(self, model, loaders, wd=0.0):
        self.model, self.loaders, self.wd = model, loaders, wd
        self.lrs = {"backbone": 0.0, "head": 1e-2}

    def freeze(self):
        self.lrs["backbone"] = 0.0

    def unfreeze(self, lr):
        self.lrs["backbone"] = lr

    def fit_one_cycle(self, epochs, lr_max):
        self.lrs["head"] = lr_max
        groups = [
            {"params": self.model.backbone.parameters(), "lr": self.lrs["backbone"]},
            {"params": self.model.head.parameters(), "lr": self.lrs["head"]},
        ]
        opt = torch.optim.AdamW(groups, weight_decay=self.wd)
        sched = OneCycleLR(opt, max_lr=lr_max, total_steps=epochs * len(self.loaders))  # cause
        self.model.train()
        for _ in range(epochs):
            for x, y in self.loaders:
                loss = F.cross_entropy(self.model(x), y, label_smoothing=0.1)
                loss.backward()
                opt.step()
                sched.step()
                opt.zero_grad()


def run():
    torch.manual_seed(0)
    data = [(torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,))) for _ in range(2)]
    learner = Learner(PlantDisease(), data)
    start = {n: p.detach().clone() for n, p in learner.model.named_parameters()}
    learner.freeze()
    learner.fit_one_cycle(2, lr_max=1e-2)
    return [n for n, p in learner.model.named_parameters() if not torch.equal(p, start[n])]


def verify(outcome):
    assert any(n.startswith("backbone") for n in outcome), outcome


TRUTH = Truth(
    fault="OneCycleLR with one max_lr overwrites the lr=0 of the frozen backbone, which then trains",
    names=("backbone", "OneCycleLR"),
    repair=('sched = OneCycleLR(opt, max_lr=[self.lrs["backbone"], lr_max], total_steps=epochs * len(self.loaders))',),
)
