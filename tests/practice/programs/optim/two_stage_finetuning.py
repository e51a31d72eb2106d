"""Two-stage fine-tuning: unfreezing makes a new optimizer, and the scheduler goes on driving the old one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Finetuner:
    def __init__(self, backbone, head, lr=0.1):
        self.backbone, self.head, self.lr = backbone, head, lr
        self.backbone.requires_grad_(False)
        self.opt = torch.optim.SGD(self.head.parameters(), lr=lr, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, step_size=1, gamma=0.1)

    def unfreeze(self):
        self.backbone.requires_grad_(True)
        groups = [{"params": self.backbone.parameters(), "lr": self.lr / 10}, {"params": self.head.parameters()}]
        self.opt = torch.optim.SGD(groups, lr=self.lr, momentum=0.9, nesterov=True)  # cause

    def epoch(self, batches):
        self.backbone.train(), self.head.train()
        total = 0.0
        for x, y in batches:
            loss = F.cross_entropy(self.head(self.backbone(x)), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item()
        self.sched.step()
        return total / len(batches)

    @torch.no_grad()
    def accuracy(self, batches):
        self.backbone.eval(), self.head.eval()
        hits = [(self.head(self.backbone(x)).argmax(1) == y).float().mean() for x, y in batches]
        return torch.stack(hits).mean().item()


def run():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
    tuner = Finetuner(backbone, nn.Linear(8, 3))
    batches = [(torch.randn(8, 8), torch.randint(0, 3, (8,))) for _ in range(2)]
    rates = []
    for epoch in range(4):
        if epoch == 1:
            tuner.unfreeze()
        loss = tuner.epoch(batches)
        rates.append(tuner.opt.param_groups[-1]["lr"])
        print(f"epoch {epoch} loss {loss:.4f} acc {tuner.accuracy(batches):.2f} lr {tuner.sched.get_last_lr()}")
    return rates


def verify(out):
    assert out[1] == out[2] == out[3]


TRUTH = Truth(
    fault="the scheduler's optimizer is not the one that steps",
    names=("sched",),
    repair=(
        "self.opt = torch.optim.SGD(groups, lr=self.lr, momentum=0.9, nesterov=True)\n"
        "self.sched = torch.optim.lr_scheduler.StepLR(self.opt, step_size=1, gamma=0.1)",
    ),
)
