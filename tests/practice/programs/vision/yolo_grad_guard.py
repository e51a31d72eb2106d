"""Detection: a guard against missing gradients returns whenever one parameter has none, which is always."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Hyp:
    nc: int = 3
    width: int = 8
    stride: int = 4
    lr0: float = 0.01
    momentum: float = 0.9
    box: float = 0.05
    obj: float = 1.0
    cls: float = 0.5
    deep_supervision: bool = False
    steps: int = 3


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class C3(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.cv1, self.cv2, self.cv3 = Conv(c, c // 2), Conv(c, c // 2), Conv(c, c)
        self.m = nn.Sequential(Conv(c // 2, c // 2, 1), Conv(c // 2, c // 2, 3))

    def forward(self, x):
        y = self.cv1(x)
        return self.cv3(torch.cat([y + self.m(y), self.cv2(x)], 1))


class Detect(nn.Module):
    def __init__(self, hyp, c):
        super().__init__()
        self.m = nn.Conv2d(c, 5 + hyp.nc, 1)

    def forward(self, x):
        return self.m(x).permute(0, 2, 3, 1)


class YOLO(nn.Module):
    def __init__(self, hyp):
        super().__init__()
        self.hyp, w = hyp, hyp.width
        self.stem, self.stage1, self.stage2 = Conv(3, w, 3, 2), Conv(w, w, 3, 2), C3(w)
        self.detect = Detect(hyp, w)
        self.aux_detect = Detect(hyp, w)  # only with deep supervision

    def forward(self, x):
        mid = self.stage1(self.stem(x))
        out = [self.detect(self.stage2(mid))]
        if self.hyp.deep_supervision:
            out.append(self.aux_detect(mid))
        return out


class ComputeLoss:
    def __init__(self, hyp):
        self.hyp = hyp

    def one(self, p, targets):
        tobj = torch.zeros(p.shape[:3])
        b, cls, box = targets["b"], targets["cls"], targets["box"]
        gx, gy = (box[:, 0] / self.hyp.stride).long(), (box[:, 1] / self.hyp.stride).long()
        ps = p[b, gy, gx]
        tobj[b, gy, gx] = 1.0
        xy = ps[:, :2].sigmoid() + torch.stack([gx, gy], 1)
        lbox = F.smooth_l1_loss(torch.cat([xy, ps[:, 2:4].exp()], 1), box / self.hyp.stride)
        lcls = F.binary_cross_entropy_with_logits(ps[:, 5:], F.one_hot(cls, self.hyp.nc).float())
        return (
            self.hyp.box * lbox
            + self.hyp.obj * F.binary_cross_entropy_with_logits(p[..., 4], tobj)
            + self.hyp.cls * lcls
        )

    def __call__(self, outputs, targets):
        return sum(self.one(p, targets) for p in outputs)


class Trainer:
    def __init__(self, hyp, model):
        self.hyp, self.model, self.compute_loss = hyp, model, ComputeLoss(hyp)
        decay = [p for p in model.parameters() if p.ndim > 1]
        other = [p for p in model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.SGD(other, lr=hyp.lr0, momentum=hyp.momentum, nesterov=True)
        self.optimizer.add_param_group({"params": decay, "weight_decay": 5e-4})
        self.losses, self.skipped = [], 0

    def optimizer_step(self):
        for p in self.model.parameters():
            if p.grad is None or not torch.isfinite(p.grad).all():  # cause
                self.skipped += 1
                self.optimizer.zero_grad()
                return
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, batches):
        self.model.train()
        for imgs, targets in batches:
            loss = self.compute_loss(self.model(imgs), targets)
            loss.backward()
            self.losses.append(loss.item())
            self.optimizer_step()


def make_batch(hyp, n=4):
    xy, wh = torch.rand(6, 2) * 15, torch.rand(6, 2) * 8 + 2
    targets = {"b": torch.randint(n, (6,)), "cls": torch.randint(hyp.nc, (6,)), "box": torch.cat([xy, wh], 1)}
    return torch.rand(n, 3, 16, 16), targets


def run():
    torch.manual_seed(0)
    hyp = Hyp()
    model = YOLO(hyp)
    before = [p.detach().clone() for p in model.parameters()]
    trainer = Trainer(hyp, model)
    trainer.train([make_batch(hyp) for _ in range(hyp.steps)])
    return before, [p.detach() for p in model.parameters()], trainer.skipped


def verify(outcome):
    before, after, skipped = outcome
    assert skipped == 3 and all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="aux_detect never gets a gradient (None), so the guard skips every single optimizer step",
    names=("aux_detect",),
    repair=("if p.grad is not None and not torch.isfinite(p.grad).all():",),
)
