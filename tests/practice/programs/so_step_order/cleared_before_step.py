"""'Loss does not decrease': gradients are cleared between backward and step."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

from tests.practice.truth import Truth


class Sines(Dataset):
    def __init__(self, n=24, length=12):
        g = torch.Generator().manual_seed(0)
        self.freq = torch.rand(n, generator=g) * 2 + 0.5
        self.t = torch.linspace(0, 3, length)

    def __len__(self):
        return len(self.freq)

    def __getitem__(self, i):
        return torch.sin(self.freq[i] * self.t), self.freq[i]


class FrequencyNet(nn.Module):
    def __init__(self, length=12):
        super().__init__()
        self.fc1 = nn.Linear(length, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))).squeeze(-1)


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


def train(loader, model, criterion, optimizer):
    meter = AverageMeter()
    model.train()
    for i, (wave, freq) in enumerate(loader):
        output = model(wave)
        loss = criterion(output, freq)
        meter.update(loss.item(), wave.size(0))
        # compute gradient and do the step
        loss.backward()
        optimizer.zero_grad()  # cause
        optimizer.step()
    return meter.avg


def run():
    torch.manual_seed(0)
    model = FrequencyNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    loader = DataLoader(Sines(), batch_size=8)
    return [train(loader, model, nn.MSELoss(), optimizer) for epoch in range(3)]


def verify(losses):
    assert losses[0] == losses[1] == losses[2], losses


TRUTH = Truth(
    fault="zero_grad stands between backward and step, so the optimizer never sees a gradient",
    names=("zero_grad",),
    repair=("optimizer.step()\noptimizer.zero_grad()\ncontinue",),
)
