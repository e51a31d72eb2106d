"""Segmentation with accumulated gradients: they are divided in the inner loop, early crops count for almost nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class UNetMini(nn.Module):
    def __init__(self, classes=3, width=8):
        super().__init__()
        self.down1 = nn.Conv2d(1, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, classes, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(a))
        return self.out(torch.cat([a, self.up(b)], 1))


def crops(volume, mask, n, size=8):
    """Large slices do not fit, so each update sees n crops, one after the other."""
    for _ in range(n):
        top, left = torch.randint(0, volume.size(-1) - size, (2,)).tolist()
        window = (..., slice(top, top + size), slice(left, left + size))
        yield volume[window], mask[window]


class AccumulatingTrainer:
    def __init__(self, model, accumulate=4, lr=0.05):
        self.model, self.accumulate = model, accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.used, self.wanted = [], []

    def average_gradients(self, by):
        for p in self.model.parameters():
            p.grad.div_(by)

    def update(self, volume, mask):
        self.optimizer.zero_grad()
        mean = torch.zeros_like(self.model.out.weight)
        for x, y in crops(volume, mask, self.accumulate):
            loss = F.cross_entropy(self.model(x), y)
            mean += torch.autograd.grad(loss, self.model.out.weight, retain_graph=True)[0] / self.accumulate
            loss.backward()
            self.average_gradients(by=self.accumulate)  # cause
        self.used.append(self.model.out.weight.grad.clone())
        self.wanted.append(mean)
        self.optimizer.step()


def phantom(n=2, size=20):
    grid = torch.linspace(-1, 1, size)
    r = (grid.unsqueeze(0) ** 2 + grid.unsqueeze(1) ** 2).sqrt()
    mask = ((r < 0.8).long() + (r < 0.4).long()).expand(n, size, size)
    return (mask.float() + 0.3 * torch.randn(n, size, size)).unsqueeze(1), mask


def run():
    torch.manual_seed(0)
    trainer = AccumulatingTrainer(UNetMini())
    for _ in range(3):
        trainer.update(*phantom())
    return trainer.used, trainer.wanted


def verify(outcome):
    used, wanted = outcome
    assert all(not torch.allclose(u, w, rtol=1e-2, atol=1e-5) for u, w in zip(used, wanted))


TRUTH = Truth(
    fault="grad.div_ runs after each crop: the first of four crops is divided by 256, the last by 4",
    names=("average_gradients", "div_"),
    repair=(
        "self.seen = getattr(self, 'seen', 0) + 1\n"
        "if self.seen % self.accumulate == 0:\n    self.average_gradients(by=self.accumulate)",
    ),
)
