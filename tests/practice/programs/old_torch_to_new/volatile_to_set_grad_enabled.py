"""Old PyTorch to new: volatile=True of the validation became set_grad_enabled(False), which nobody turns on again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 9, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def make_loader(batches, size=6):
    return [(torch.randn(size, 1, 8, 8), torch.randint(0, 4, (size,))) for _ in range(batches)]


def train(model, optimizer, loader, epoch):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        if loss.requires_grad:  # the last batches may be pure padding
            loss.backward()
        optimizer.step()


def test(model, loader):
    model.eval()
    torch.set_grad_enabled(False)  # also
    correct = total = 0
    for data, target in loader:
        correct += int((model(data).argmax(dim=1) == target).sum())
        total += len(target)
    return correct / total  # cause


def run():
    torch.manual_seed(0)
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    training, validation = make_loader(2), make_loader(1)
    weights = []
    try:
        for epoch in range(3):
            train(model, optimizer, training, epoch)
            test(model, validation)
            weights.append(model.fc.weight.detach().clone())
    finally:
        torch.set_grad_enabled(True)
    return weights


def verify(weights):
    assert torch.equal(weights[0], weights[-1])


TRUTH = Truth(
    fault="after the first validation nothing is recorded any more: set_grad_enabled(False) stays on",
    names=("set_grad_enabled",),
    repair=("torch.set_grad_enabled(True)\nreturn correct / total",),
)
