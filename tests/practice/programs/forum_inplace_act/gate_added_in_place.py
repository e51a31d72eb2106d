"""U-Net attention gate: an in-place product on the sigmoid's output, which its backward needs: 'modified by an inplace operation'."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class AttentionGate(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.wg = nn.Conv2d(ch, ch, 1)
        self.wx = nn.Conv2d(ch, ch, 1)
        self.psi = nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(ch, 1, 1), nn.Sigmoid())

    def forward(self, g, x):
        att = self.psi(self.wg(g) + self.wx(x))
        # borders are not to be trusted
        att[:, :, 0] *= 0.5  # cause
        return x * att


class TinyUNet(nn.Module):
    def __init__(self, ch=4):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.up = nn.ConvTranspose2d(ch, ch, 2, 2)
        self.gate = AttentionGate(ch)
        self.out = nn.Conv2d(2 * ch, 1, 1)

    def forward(self, img):
        skip = torch.relu(self.down(img))
        x = torch.relu(self.mid(self.pool(skip)))
        x = self.up(x)
        return self.out(torch.cat([self.gate(x, skip), x], 1))


def dice_loss(logits, mask, eps=1.0):
    p = logits.sigmoid()
    inter = (p * mask).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


def blobs(n):
    mask = (torch.rand(n, 1, 2, 2) > 0.5).float().repeat_interleave(4, 2).repeat_interleave(4, 3)
    return mask + 0.3 * torch.randn_like(mask), mask


def run():
    torch.manual_seed(0)
    model = TinyUNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        img, mask = blobs(4)
        loss = dice_loss(model(img), mask)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the output of the sigmoid is changed in place although the backward of the sigmoid needs it",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("att",),
    repair=("att = torch.cat([att[:, :, :1] * 0.5, att[:, :, 1:]], dim=2)",),
)
