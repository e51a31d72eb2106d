"""YOLO-like: the IoU that serves as objectness target keeps its graph, so the boxes learn to suit the objectness."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

HYP = {"box": 0.05, "obj": 1.0, "cls": 0.5}


def bbox_iou(a, b, eps=1e-7):
    lt = torch.max(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    rb = torch.min(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (rb - lt).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter + eps)


class Detect(nn.Module):
    def __init__(self, nc=2, ch=8, na=2):
        super().__init__()
        self.na, self.no = na, nc + 5
        self.m = nn.Conv2d(ch, na * self.no, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        return self.m(x).view(b, self.na, self.no, h, w).permute(0, 1, 3, 4, 2).contiguous()


class YOLO(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.SiLU())
        self.detect = Detect()

    def forward(self, x):
        return self.detect(self.backbone(x))


class ComputeLoss:
    def __init__(self):
        self.bce = nn.BCEWithLogitsLoss()

    def __call__(self, p, targets):
        b, a, gj, gi, tbox, tcls = targets
        tobj = torch.zeros_like(p[..., 0])
        ps = p[b, a, gj, gi]
        pxy = ps[:, :2].sigmoid() * 2 - 0.5
        pwh = (ps[:, 2:4].sigmoid() * 2) ** 2
        iou = bbox_iou(torch.cat([pxy, pwh], 1), tbox)
        lbox = (1.0 - iou).mean()
        tobj[b, a, gj, gi] = iou.clamp(0)  # cause
        lobj = self.bce(p[..., 4], tobj)
        lcls = self.bce(ps[:, 5:], tcls)
        return HYP["box"] * lbox + HYP["cls"] * lcls, HYP["obj"] * lobj


def build_targets(n=6):
    b, a = torch.arange(n) % 4, torch.arange(n) % 2
    gj, gi = torch.randint(0, 4, (n,)), torch.randint(0, 4, (n,))
    tbox = torch.cat([torch.rand(n, 2), 0.5 + torch.rand(n, 2)], 1)
    return b, a, gj, gi, tbox, torch.eye(2)[torch.randint(0, 2, (n,))]


def run():
    torch.manual_seed(0)
    model, compute_loss = YOLO(), ComputeLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
    leaks = []
    for _ in range(3):
        rest, lobj = compute_loss(model(torch.randn(4, 3, 16, 16)), build_targets())
        (g,) = torch.autograd.grad(lobj, model.detect.m.weight, retain_graph=True)
        g = g.view(2, 7, -1)  # by anchor and output: x y w h obj classes
        leaks.append((g[:, :4].abs().max().item(), g[:, 4].abs().max().item()))
        optimizer.zero_grad()
        (rest + lobj).backward()
        optimizer.step()
    return leaks


def verify(outcome):
    assert all(box > 0 and obj > 0 for box, obj in outcome)


TRUTH = Truth(
    fault="tobj holds the IoU with its graph: the objectness loss sends a gradient through its target into the box outputs",
    names=("tobj",),
    repair=("tobj[b, a, gj, gi] = iou.detach().clamp(0)",),
)
