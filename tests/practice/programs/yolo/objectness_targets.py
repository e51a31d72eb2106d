"""YOLOv5 ComputeLoss: the objectness target (the IoU) is not detached."""

import torch
from torch import nn

from tests.practice.truth import Truth

HYP = {"box": 0.05, "obj": 1.0, "cls": 0.5, "lr0": 0.01, "momentum": 0.9}
NC = 3


def bbox_iou(box1, box2, eps=1e-7):
    """IoU of boxes in xywh, row by row."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = box1.chunk(4, 1), box2.chunk(4, 1)
    left, right = torch.max(x1 - w1 / 2, x2 - w2 / 2), torch.min(x1 + w1 / 2, x2 + w2 / 2)
    top, bottom = torch.max(y1 - h1 / 2, y2 - h2 / 2), torch.min(y1 + h1 / 2, y2 + h2 / 2)
    inter = (right - left).clamp(0) * (bottom - top).clamp(0)
    return inter / (w1 * h1 + w2 * h2 - inter + eps)


class Detect(nn.Module):
    """Separate heads, as in the later models."""

    def __init__(self, ch):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, ch, 3, 2, 1), nn.BatchNorm2d(ch), nn.SiLU())
        self.box = nn.Conv2d(ch, 4, 1)
        self.obj = nn.Conv2d(ch, 1, 1)
        self.cls = nn.Conv2d(ch, NC, 1)

    def forward(self, x):
        x = self.stem(x)
        return torch.cat((self.box(x), self.obj(x), self.cls(x)), 1).permute(0, 2, 3, 1)


class ComputeLoss:
    def __init__(self, gr=1.0):
        self.gr = gr
        self.bce_obj, self.bce_cls = nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()

    def __call__(self, pred, targets):
        b, gj, gi, tcls, tbox = targets
        tobj = torch.zeros_like(pred[..., 4])
        ps = pred[b, gj, gi]
        pxy = ps[:, :2].sigmoid() * 2 - 0.5
        pwh = (ps[:, 2:4].sigmoid() * 2) ** 2 * 2
        iou = bbox_iou(torch.cat((pxy, pwh), 1), tbox).squeeze(1)
        lbox = (1.0 - iou).mean()
        iou = iou.clamp(0)  # cause
        tobj[b, gj, gi] = (1.0 - self.gr) + self.gr * iou  # also
        onehot = torch.zeros_like(ps[:, 5:])
        onehot[torch.arange(len(tcls)), tcls] = 1.0
        lcls = self.bce_cls(ps[:, 5:], onehot)
        lobj = self.bce_obj(pred[..., 4], tobj)
        return lbox * HYP["box"], lobj * HYP["obj"], lcls * HYP["cls"]


def build_targets(n, size):
    b = torch.randint(0, 2, (n,))
    gj, gi = torch.randint(0, size, (2, n))
    tbox = torch.cat((torch.rand(n, 2), torch.rand(n, 2) + 0.8), 1)
    return b, gj, gi, torch.randint(0, NC, (n,)), tbox


def run():
    torch.manual_seed(0)
    model = Detect(8).train()
    compute_loss = ComputeLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=HYP["lr0"], momentum=HYP["momentum"], nesterov=True)
    leaks = []
    for _ in range(3):
        imgs, targets = torch.randn(2, 3, 16, 16), build_targets(6, 8)
        lbox, lobj, lcls = compute_loss(model(imgs), targets)
        (leak,) = torch.autograd.grad(lobj, model.box.weight, retain_graph=True, allow_unused=True)
        leaks.append(0.0 if leak is None else leak.abs().sum().item())
        optimizer.zero_grad()
        (lbox + lobj + lcls).backward()
        optimizer.step()
    return leaks


def verify(outcome):
    assert all(leak > 0 for leak in outcome), outcome


TRUTH = Truth(
    fault="the objectness loss pulls at the boxes through its target: the IoU is not detached",
    names=("iou", "tobj"),
    repair=("iou = iou.detach().clamp(0)",),
)
