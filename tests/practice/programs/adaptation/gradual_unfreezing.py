"""Gradual unfreezing (ULMFiT): groups join the optimizer one by one, frozen norms stay in eval mode: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Stage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc, self.bn = nn.Linear(i, o, bias=False), nn.BatchNorm1d(o)

    def forward(self, x):
        return F.relu(self.bn(self.fc(x)), inplace=True)


class Classifier(nn.Module):
    def __init__(self, width=10, classes=3):
        super().__init__()
        self.stages = nn.ModuleList([Stage(width, 24), Stage(24, 24), Stage(24, 16)])
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(x)

    def train(self, mode=True):
        """Frozen stages keep the statistics of pre-training."""
        super().train(mode)
        for stage in self.stages:
            if not next(stage.parameters()).requires_grad:
                stage.eval()
        return self


class GradualUnfreezing:
    def __init__(self, model, optimizer, base_lr, decay=2.6):
        self.model, self.optimizer, self.base_lr, self.decay = model, optimizer, base_lr, decay
        self.todo = list(reversed(model.stages))
        self.depth = 0

    def next_stage(self):
        if not self.todo:
            return
        stage = self.todo.pop(0)
        stage.requires_grad_(True)
        self.depth += 1
        self.optimizer.add_param_group(
            {"params": list(stage.parameters()), "lr": self.base_lr / self.decay**self.depth}
        )


def make_data(n=48):
    x = torch.randn(n, 10)
    return x, x[:, :3].argmax(1)


def pretrain(model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model.train()
    for _ in range(steps):
        x, _ = make_data()
        optimizer.zero_grad()
        model(x).logsumexp(-1).mean().backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Classifier()
    pretrain(model)
    model.zero_grad(set_to_none=True)
    model.head = nn.Linear(16, 3)
    model.stages.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-2)
    schedule = GradualUnfreezing(model, optimizer, base_lr=1e-2)
    moved = []
    for _ in range(4):
        model.train()
        before = {k: v.clone() for k, v in model.state_dict().items()}
        for _ in range(2):
            x, y = make_data()
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        after = model.state_dict()
        moved.append(
            [
                s
                for s in range(3)
                if not all(torch.equal(before[k], after[k]) for k in after if k.startswith(f"stages.{s}."))
            ]
        )
        schedule.next_stage()
    return moved, [g["lr"] for g in optimizer.param_groups]


def verify(outcome):
    moved, rates = outcome
    assert moved == [[], [2], [1, 2], [0, 1, 2]] and rates == sorted(rates, reverse=True)


TRUTH = Truth()
