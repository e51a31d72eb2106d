"""Hard pixel mining keeps what is above the k-th largest loss; with an untrained head all losses are equal."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class OhemCrossEntropy(nn.Module):
    def __init__(self, fraction=0.25, ignore=255):
        super().__init__()
        self.fraction, self.ignore = fraction, ignore

    def forward(self, logits, labels):
        losses = F.cross_entropy(logits, labels, ignore_index=self.ignore, reduction="none").flatten()
        losses = losses[labels.flatten() != self.ignore]
        kth = losses.topk(max(1, int(self.fraction * losses.numel()))).values[-1].detach()
        hard = losses[losses > kth]  # cause
        return hard.mean()  # also


class SegNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)
        )
        self.head = nn.Conv2d(8, classes, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return F.interpolate(self.head(self.encoder(x)), size=x.shape[-2:], mode="bilinear", align_corners=False)


def batches(n=3):
    for _ in range(n):
        labels = torch.randint(0, 4, (2, 8, 8))
        labels[:, 0] = 255
        yield torch.randn(2, 3, 8, 8), labels


def run():
    torch.manual_seed(0)
    net, criterion = SegNet(), OhemCrossEntropy()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    log = []
    for images, labels in batches():
        loss = criterion(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(loss.item())
    return log


def verify(log):
    assert all(v != v for v in log)


TRUTH = Truth(
    fault="no pixel is selected, and the mean of nothing is NaN",
    values=True,
    names=("mean",),
    repair=("hard = losses[losses >= kth]",),
)
