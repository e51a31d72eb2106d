"""Feature pyramid: the upsampled map is added in place to a lateral map whose ReLU needs its output."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.c2 = nn.Conv2d(3, ch, 3, stride=2, padding=1)
        self.c3 = nn.Conv2d(ch, 2 * ch, 3, stride=2, padding=1)
        self.c4 = nn.Conv2d(2 * ch, 4 * ch, 3, stride=2, padding=1)

    def forward(self, x):
        c2 = F.relu(self.c2(x))
        c3 = F.relu(self.c3(c2))
        return c2, c3, F.relu(self.c4(c3))


class FPN(nn.Module):
    def __init__(self, ins=(4, 8, 16), out=8):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Sequential(nn.Conv2d(c, out, 1), nn.ReLU()) for c in ins)
        self.smooth = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1) for _ in ins)

    def forward(self, feats):
        laterals = [lat(f) for lat, f in zip(self.lateral, feats)]
        for i in range(len(laterals) - 1, 0, -1):
            up = F.interpolate(laterals[i], size=laterals[i - 1].shape[-2:], mode="nearest")
            laterals[i - 1] += up  # cause
        return [s(p) for s, p in zip(self.smooth, laterals)]


class RetinaHead(nn.Module):
    def __init__(self, ch=8, anchors=2, classes=3):
        super().__init__()
        self.cls = nn.Conv2d(ch, anchors * classes, 3, padding=1)
        self.reg = nn.Conv2d(ch, anchors * 4, 3, padding=1)
        nn.init.constant_(self.cls.bias, -2.0)

    def forward(self, feats):
        cls = torch.cat([self.cls(f).permute(0, 2, 3, 1).reshape(f.shape[0], -1, 3) for f in feats], 1)
        reg = torch.cat([self.reg(f).permute(0, 2, 3, 1).reshape(f.shape[0], -1, 4) for f in feats], 1)
        return cls, reg


def focal_loss(logits, target, alpha=0.25, gamma=2.0):
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p_t = torch.exp(-ce)
    return ((alpha * target + (1 - alpha) * (1 - target)) * (1 - p_t) ** gamma * ce).sum()


def run():
    torch.manual_seed(0)
    net = nn.ModuleDict({"backbone": Backbone(), "neck": FPN(), "head": RetinaHead()})
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    for it in range(2):
        cls, reg = net["head"](net["neck"](net["backbone"](torch.randn(2, 3, 16, 16))))
        target = (torch.rand_like(cls) < 0.05).float()
        pos = target.amax(-1) > 0
        loss = (
            focal_loss(cls, target) + F.smooth_l1_loss(reg[pos], torch.randn_like(reg[pos]), reduction="sum")
        ) / pos.sum().clamp(min=1)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        print(f"iter {it}: {loss.item():.3f}")
    return net


TRUTH = Truth(
    fault="an in-place addition changes what the lateral ReLU saved",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("laterals",),
    repair=("laterals[i - 1] = laterals[i - 1] + up",),
)
