"""Segmentation with BCE and Dice: the Dice term is of the thresholded mask, so only BCE trains."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DoubleConv(nn.Sequential):
    def __init__(self, inp, out):
        super().__init__(nn.Conv2d(inp, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.inc, self.down, self.up = DoubleConv(1, ch), DoubleConv(ch, 2 * ch), DoubleConv(3 * ch, ch)
        self.outc = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = F.interpolate(self.down(F.max_pool2d(x1, 2)), scale_factor=2)
        return self.outc(self.up(torch.cat([x1, x2], 1)))


def dice_coefficient(pred, target, smooth=1.0):
    inter = (pred * target).sum((1, 2, 3))
    return ((2 * inter + smooth) / (pred.sum((1, 2, 3)) + target.sum((1, 2, 3)) + smooth)).mean()


class BCEDiceLoss(nn.Module):
    def __init__(self, bce_weight=0.5):
        super().__init__()
        self.bce_weight = bce_weight

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target)
        pred = (torch.sigmoid(logits) > 0.5).float()  # cause
        dice = 1 - dice_coefficient(pred, target)
        return self.bce_weight * bce + (1 - self.bce_weight) * dice, dice


@torch.no_grad()
def evaluate(model, images, masks):
    model.eval()
    pred = (torch.sigmoid(model(images)) > 0.5).float()
    score = dice_coefficient(pred, masks)
    model.train()
    return score.item()


def run():
    torch.manual_seed(0)
    model = UNet()
    criterion = BCEDiceLoss()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(4, 1, 8, 8)
    masks = (images.roll(1, -1) > 0.3).float()
    for epoch in range(2):
        for img, mask in zip(images.split(2), masks.split(2)):
            loss, dice = criterion(model(img), mask)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f} val dice {evaluate(model, images, masks):.3f}")
    return dice


def verify(out):
    assert not out.requires_grad


TRUTH = Truth(
    fault="the Dice term has no gradient: it is of a comparison",
    names=("dice",),
    repair=("pred = torch.sigmoid(logits)",),
)
