"""Detector with linear warm-up: the schedule starts at zero and is stepped once an epoch, the first epoch moves nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class CenterHead(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.shared = nn.Conv2d(channels, channels, 3, padding=1)
        self.heatmap, self.size = nn.Conv2d(channels, classes, 1), nn.Conv2d(channels, 2, 1)
        nn.init.constant_(self.heatmap.bias, -2.19)

    def forward(self, f):
        f = F.relu(self.shared(f))
        return self.heatmap(f), self.size(f)


class CenterNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 12, 3, 2, 1), nn.ReLU())
        self.head = CenterHead(12, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def focal(logits, target, alpha=2, beta=4):
    p = logits.sigmoid().clamp(1e-4, 1 - 1e-4)
    pos = target.eq(1).float()
    loss = pos * (1 - p) ** alpha * p.log() + (1 - pos) * (1 - target) ** beta * p**alpha * (1 - p).log()
    return -loss.sum() / pos.sum().clamp(min=1)


def annotated_images(n=2, size=16):
    images = torch.randn(n, 3, size, size) * 0.1
    heat, boxes, mask = (
        torch.zeros(n, 2, size // 4, size // 4),
        torch.zeros(n, 2, size // 4, size // 4),
        torch.zeros(n, 1, 4, 4),
    )
    for i in range(n):
        cls, cy, cx = torch.randint(0, 2, ()), *torch.randint(0, 4, (2,))
        images[i, cls, cy * 4 : cy * 4 + 4, cx * 4 : cx * 4 + 4] += 1
        heat[i, cls, cy, cx], mask[i, 0, cy, cx] = 1, 1
        boxes[i, :, cy, cx] = 4.0
    return images, heat, boxes, mask


class Loop:
    def __init__(self, model, lr=1e-2, warmup=3, epoch_length=3):
        self.model, self.epoch_length = model, epoch_length
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        warm = lambda step: min(1.0, step / warmup)  # noqa: E731
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, warm)  # cause

    def epoch(self):
        for _ in range(self.epoch_length):
            images, heat, boxes, mask = annotated_images()
            logits, size = self.model(images)
            loss = focal(logits, heat) + 0.1 * F.l1_loss(size * mask, boxes * mask, reduction="sum") / mask.sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()  # also


def run():
    torch.manual_seed(0)
    model = CenterNet()
    loop = Loop(model)
    before = [p.detach().clone() for p in model.parameters()]
    loop.epoch()
    return before, [p.detach() for p in model.parameters()], [p.grad for p in model.parameters()]


def verify(outcome):
    before, after, grads = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after)) and any(g.abs().max() > 0 for g in grads)


TRUTH = Truth(
    fault="LambdaLR gives a rate of zero until the first scheduler.step(), which comes after a whole epoch",
    names=("lr", "LambdaLR", "scheduler"),
    repair=("self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda e: warm(e + 1))",),
)
