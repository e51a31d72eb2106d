"""Segmentation with deep supervision: the auxiliary loss is added with `add`, and the sum is dropped."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def block(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.GroupNorm(2, o), nn.ReLU(inplace=True))


class SegHead(nn.Sequential):
    def __init__(self, channels, classes):
        super().__init__(
            nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(channels, classes, 1)
        )


class PSPLike(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stage1, self.stage2, self.stage3 = block(3, 8), block(8, 12, 2), block(12, 16, 2)
        self.head, self.aux_head = SegHead(16, classes), SegHead(12, classes)

    def forward(self, x):
        size = x.shape[-2:]
        c2 = self.stage2(self.stage1(x))
        c3 = self.stage3(c2)
        out = F.interpolate(self.head(c3), size, mode="bilinear", align_corners=False)
        if not self.training:
            return out, None
        return out, F.interpolate(self.aux_head(c2), size, mode="bilinear", align_corners=False)


class SegLoss(nn.Module):
    def __init__(self, aux_weight=0.4, ignore_index=255):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(ignore_index=ignore_index)
        self.aux_weight = aux_weight

    def dice(self, logits, target):
        valid = (target != 255).unsqueeze(1)
        onehot = F.one_hot(target.clamp(max=logits.size(1) - 1), logits.size(1)).permute(0, 3, 1, 2) * valid
        p = logits.softmax(1) * valid
        return 1 - (2 * (p * onehot).sum((0, 2, 3)) / ((p + onehot).sum((0, 2, 3)) + 1e-6)).mean()

    def forward(self, out, aux, target):
        loss = self.ce(out, target)
        loss = loss + 0.5 * self.dice(out, target)
        if aux is not None:
            loss.add(self.ce(aux, target), alpha=self.aux_weight)  # cause
        return loss


def scenes(n=3, size=16):
    target = torch.zeros(n, size, size, dtype=torch.long)
    target[:, size // 2 :] = 1
    target[:, :, size // 2 :] += 2
    x = torch.randn(n, 3, size, size) * 0.3 + target.unsqueeze(1)
    target[:, :1] = 255
    return x, target


def run():
    torch.manual_seed(0)
    model, criterion = PSPLike(), SegLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=6, power=0.9)
    for _ in range(3):
        model.train()
        x, target = scenes()
        out, aux = model(x)
        loss = criterion(out, aux, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return {n: p.grad is None for n, p in model.named_parameters()}


def verify(no_grad):
    assert all(missing == name.startswith("aux_head") for name, missing in no_grad.items())


TRUTH = Truth(
    fault="loss.add(...) returns the sum and nobody takes it: the auxiliary head is never trained",
    names=("aux_head", "add"),
    repair=("loss = loss.add(self.ce(aux, target), alpha=self.aux_weight)",),
)
