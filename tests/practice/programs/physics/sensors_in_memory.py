"""Physics: each epoch standardises the rows of the data set in place, and the data drift away from what was measured."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tests.practice.truth import Truth

CHANNELS, WINDOW = 3, 12


class Standardise:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, x):
        return x.sub_(self.mean).div_(self.std)  # cause


class Jitter:
    def __init__(self, sigma):
        self.sigma = sigma

    def __call__(self, x):
        return x + self.sigma * torch.randn_like(x)


class SensorWindows(Dataset):
    """The whole record stays in memory."""

    def __init__(self, record, load, transforms=()):
        self.record, self.load, self.transforms = record, load, transforms

    def __len__(self):
        return len(self.record)

    def __getitem__(self, i):
        x = self.record[i]  # also
        for transform in self.transforms:
            x = transform(x)
        return x, self.load[i]


class LoadEstimator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(CHANNELS, 8, 3, padding=1), nn.Tanh(), nn.Conv1d(8, 8, 3, padding=1), nn.Tanh()
        )
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.conv(x).mean(-1)).squeeze(-1)


def measure(n=12):
    offset = torch.tensor([300.0, 5.0, -40.0])[:, None]
    scale = torch.tensor([20.0, 0.5, 3.0])[:, None]
    record = torch.randn(n, CHANNELS, WINDOW) * scale + offset
    return record, (record[:, 0] - 300).mean(-1) / 20


def run(epochs=3):
    torch.manual_seed(0)
    record, load = measure()
    mean, std = record.mean((0, 2))[:, None], record.std((0, 2))[:, None]
    data = SensorWindows(record, load, [Standardise(mean, std), Jitter(0.01)])
    loader = DataLoader(data, batch_size=4, shuffle=True)
    model = LoadEstimator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    means = []
    for _ in range(epochs):
        seen = []
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(x)
        means.append(torch.cat(seen).mean((0, 2))[0].item())
    return means


def verify(outcome):
    assert abs(outcome[0]) < 0.05  # the first epoch is right
    assert outcome[1] < -10


TRUTH = Truth(
    fault="sub_ and div_ work on a view of the data set: from the second epoch on the input is standardised again",
    names=("record", "sub_"),
    repair=("return (x - self.mean) / self.std",),
)
