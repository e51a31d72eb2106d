"""YOLO v1: the loss takes the root of predicted widths and heights, which nothing keeps from being negative."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyYolo(nn.Module):
    def __init__(self, grid=4, classes=3):
        super().__init__()
        self.grid, self.classes = grid, classes
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
        )
        self.pred = nn.Conv2d(16, 5 + classes, 1)

    def forward(self, x):
        out = self.pred(self.features(x)).permute(0, 2, 3, 1)
        xy, wh, obj, cls = out.split([2, 2, 1, self.classes], dim=-1)
        return torch.sigmoid(xy), wh, torch.sigmoid(obj).squeeze(-1), cls  # also


class YoloLoss(nn.Module):
    def __init__(self, coord=5.0, noobj=0.5):
        super().__init__()
        self.coord, self.noobj = coord, noobj

    def forward(self, pred, boxes, has_obj, labels):
        xy, wh, obj, cls = pred
        loss_xy = F.mse_loss(xy[has_obj], boxes[has_obj][:, :2], reduction="sum")
        loss_wh = F.mse_loss(wh[has_obj].sqrt(), boxes[has_obj][:, 2:].sqrt(), reduction="sum")  # cause
        loss_obj = ((obj[has_obj] - 1) ** 2).sum() + self.noobj * (obj[~has_obj] ** 2).sum()
        loss_cls = F.cross_entropy(cls[has_obj], labels[has_obj], reduction="sum")
        return (self.coord * (loss_xy + loss_wh) + loss_obj + loss_cls) / len(boxes)


def targets(n, grid=4):
    boxes = torch.rand(n, grid, grid, 4) * 0.8 + 0.1
    has_obj = torch.rand(n, grid, grid) < 0.25
    return boxes, has_obj, torch.randint(0, 3, (n, grid, grid))


def run():
    torch.manual_seed(0)
    model, criterion = TinyYolo(), YoloLoss()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    warmup = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=3)
    losses = []
    for it in range(2):
        img = torch.rand(2, 3, 16, 16)
        loss = criterion(model(img), *targets(2))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 10.0)
        opt.step()
        warmup.step()
        losses.append(loss.item())
        print(f"iter {it} loss {losses[-1]:.3f}")
    return model, losses


def verify(out):
    model, _ = out
    assert model.pred.weight.isnan().any()


TRUTH = Truth(
    fault="the root of a negative width is NaN",
    values=True,
    repair=("loss_wh = F.mse_loss(wh[has_obj].clamp(min=1e-4).sqrt(), boxes[has_obj][:, 2:].sqrt(), reduction='sum')",),
)
