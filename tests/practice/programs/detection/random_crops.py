"""Semantic segmentation on random crops: a crop with nothing but void pixels makes the mean over no pixel NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

VOID = 255


class DeepLabHead(nn.Module):
    def __init__(self, inp, classes, rates=(1, 2)):
        super().__init__()
        self.aspp = nn.ModuleList(nn.Conv2d(inp, 8, 3, padding=r, dilation=r) for r in rates)
        self.project = nn.Conv2d(8 * len(rates), classes, 1)

    def forward(self, x):
        return self.project(torch.cat([F.relu(conv(x)) for conv in self.aspp], 1))


class Segmenter(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8), nn.ReLU())
        self.head = DeepLabHead(8, classes)
        self.aux = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        f = self.stem(x)
        return [
            F.interpolate(m(f), size=x.shape[-2:], mode="bilinear", align_corners=False) for m in (self.head, self.aux)
        ]


class SegCriterion(nn.Module):
    def __init__(self, aux_weight=0.4, focus=1.0):
        super().__init__()
        self.aux_weight, self.focus = aux_weight, focus

    def pixel_mean(self, logits, target):
        valid = target != VOID
        loss = F.cross_entropy(logits, target.clamp(max=logits.shape[1] - 1), reduction="none")
        weight = 1 + self.focus * (1 - logits.detach().softmax(1).amax(1))
        return (loss * weight * valid).sum() / valid.sum()  # cause

    def forward(self, outs, target):
        return self.pixel_mean(outs[0], target) + self.aux_weight * self.pixel_mean(outs[1], target)


def random_crop(img, lbl, size=8):
    i, j = (int(torch.randint(0, s - size + 1, (1,))) for s in img.shape[-2:])
    return img[..., i : i + size, j : j + size], lbl[..., i : i + size, j : j + size]


def run():
    torch.manual_seed(0)
    model, criterion = Segmenter(), SegCriterion()
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=4, power=0.9)
    labels = torch.full((2, 32, 32), VOID)
    labels[0, :12, :12] = torch.randint(0, 5, (12, 12))
    for it, (lbl, where) in enumerate([(labels[0], (0, 0)), (labels[1], (4, 4)), (labels[0], (2, 2))]):
        img = torch.rand(1, 3, 32, 32)
        i, j = where
        crop, target = random_crop(img[..., i : i + 9, j : j + 9], lbl[None, i : i + 9, j : j + 9])
        loss = criterion(model(crop), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print(f"iter {it} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.4f}")
    return model


def verify(out):
    assert out.stem[0].weight.isnan().any()


TRUTH = Truth(
    fault="the mean loss over no labelled pixel is NaN",
    values=True,
    repair=("return (loss * weight * valid).sum() / valid.sum().clamp(min=1)",),
)
