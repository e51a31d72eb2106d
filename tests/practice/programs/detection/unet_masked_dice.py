"""A small U-Net: Dice ignores void pixels by a mask, metrics are counted on numpy, and validation is in eval mode."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.down1, self.down2 = block(1, 6), block(6, 12)
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.merge, self.head = block(12, 6), nn.Conv2d(6, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.head(self.merge(torch.cat([a, self.up(b)], 1)))


def dice_loss(logits, target, classes, ignore=255, eps=1.0):
    valid = target != ignore
    onehot = F.one_hot(target.masked_fill(~valid, 0), classes).permute(0, 3, 1, 2).float()
    m = valid[:, None].float()
    p = logits.softmax(1) * m
    onehot *= m
    inter = (p * onehot).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((0, 2, 3)) + onehot.sum((0, 2, 3)) + eps)).mean()


def confusion(pred, target, classes):
    pred, target = pred.numpy().ravel(), target.numpy().ravel()
    keep = target != 255
    return np.bincount(classes * target[keep] + pred[keep], minlength=classes**2).reshape(classes, classes)


def run():
    torch.manual_seed(0)
    net = UNet(3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    losses, hist = [], np.zeros((3, 3), dtype=np.int64)
    for _ in range(3):
        net.train()
        x, y = torch.randn(2, 1, 8, 8), torch.randint(3, (2, 8, 8))
        y[:, :2] = 255
        out = net(x)
        loss = F.cross_entropy(out, y, ignore_index=255) + dice_loss(out, y, 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            hist += confusion(net(x).argmax(1), y, 3)
    iou = np.diag(hist) / (hist.sum(0) + hist.sum(1) - np.diag(hist)).clip(1)
    return net, losses, iou


TRUTH = Truth()


def verify(out):
    net, losses, iou = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(0 < loss < 100 for loss in losses) and ((iou >= 0) & (iou <= 1)).all()
