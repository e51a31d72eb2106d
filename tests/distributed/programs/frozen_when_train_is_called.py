"""A backbone that freezes its first stages where it is put into train mode, which is after it was wrapped."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Backbone(nn.Module):
    def __init__(self, frozen_stages=1):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.stages = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])

    def forward(self, x):
        for stage in self.stages:
            x = stage(x).relu()
        return x

    def freeze_stages(self):
        for stage in self.stages[: self.frozen_stages]:
            stage.eval()
            for parameter in stage.parameters():
                parameter.requires_grad = False  # cause

    def train(self, mode=True):
        super().train(mode)
        self.freeze_stages()  # also
        return self


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Backbone(), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def run():
    torch.manual_seed(0)
    model = DDP(Classifier())  # also
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(30 + dist.get_rank())
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
        optimizer.step()


TRUTH = Truth(
    fault="the reducer waits for what was frozen after wrapping",
    rule="AG603|AG605",
    names=("backbone.stages.0.weight",),
    raises="Expected to have finished reduction",
)
