"""JAX to PyTorch: `x = x.at[:, a:b].set(0)` became an in-place write into a view of the data set; each epoch blanks more of it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SpectrogramNet(nn.Module):
    def __init__(self, bands=6, classes=3):
        super().__init__()
        self.conv = nn.Conv1d(bands, 8, 3, padding=1)
        self.out = nn.Linear(8, classes)

    def forward(self, x):
        return self.out(F.relu(self.conv(x)).mean(dim=-1))


def spec_augment(x, generator, width=4):
    """Mask a stretch of time and one band."""
    start = int(torch.randint(0, x.shape[-1] - width, (1,), generator=generator))
    band = int(torch.randint(0, x.shape[1], (1,), generator=generator))
    x[:, :, start : start + width] = 0.0  # cause
    x[:, band] = 0.0  # also
    return x


class Dataset:
    def __init__(self, size=16):
        self.x = torch.randn(size, 6, 20) + 1.0
        self.y = torch.randint(0, 3, (size,))

    def batches(self, size=8):
        for start in range(0, len(self.x), size):
            yield self.x[start : start + size], self.y[start : start + size]


def run():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    data, model = Dataset(), SpectrogramNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    blank = []
    for _ in range(2):
        for x, y in data.batches():
            loss = F.cross_entropy(model(spec_augment(x, generator)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        blank.append(int((data.x == 0).sum()))
    return blank


def verify(blank):
    assert 0 < blank[0] < blank[1]


TRUTH = Truth(
    fault="the augmentation writes zeros into the data set itself: batches are views of it",
    repair=("x = x.clone()\nx[:, :, start : start + width] = 0.0",),
)
