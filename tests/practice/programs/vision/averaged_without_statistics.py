"""Vision: weights are averaged (SWA), but the batch norm of the average keeps the statistics of its first day."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import update_bn

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


class WeightAveraging:
    """The running mean of the weights after the last epochs, served for evaluation."""

    def __init__(self, model, start):
        self.average = copy.deepcopy(model).requires_grad_(False)
        self.start, self.count = start, 0

    @torch.no_grad()
    def after_epoch(self, epoch, model):
        if epoch < self.start:
            return
        self.count += 1
        for avg, p in zip(self.average.parameters(), model.parameters()):  # also
            avg.lerp_(p, 1 / self.count)

    def finish(self, loader):
        self.average.eval()  # cause
        return self.average


def shifted_images(batches=3, n=8):
    """Not centred: the statistics matter."""
    return [(torch.randn(n, 3, 6, 6) * 3 + 5, torch.randint(0, 3, (n,))) for _ in range(batches)]


def train(model, optimizer, loader):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def run(epochs=4):
    torch.manual_seed(0)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    averaging = WeightAveraging(model, start=2)
    loader = shifted_images()
    for epoch in range(epochs):
        train(model, optimizer, loader)
        averaging.after_epoch(epoch, model)
    served = averaging.finish(loader)
    with torch.no_grad():
        served(loader[0][0])
    reference = copy.deepcopy(served).train()
    update_bn(loader, reference)
    return served.bn1, reference.bn1, averaging.count


def verify(outcome):
    served, reference, averaged = outcome
    assert averaged == 2
    assert int(served.num_batches_tracked) == 0
    assert torch.equal(served.running_mean, torch.zeros(8))
    assert (served.running_mean - reference.running_mean).abs().max() > 0.1


TRUTH = Truth(
    fault="only parameters are averaged and update_bn is never called: running_mean of the average is still zero",
    names=("running_mean", "update_bn"),
    repair=("update_bn(loader, self.average)\nself.average.eval()",),
)
