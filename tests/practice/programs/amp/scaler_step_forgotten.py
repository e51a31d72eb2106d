"""Mixed precision: the loss is scaled, and the optimizer steps without the scaler."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4 * 16, 3)

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.bn(self.conv(x))), 2).flatten(1))


def train_epoch(model, loader, optimizer, scaler):
    model.train()
    norms = []
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        norms.append(nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
        optimizer.step()  # cause
        scaler.update()
    return norms


def run():
    torch.manual_seed(0)
    model = Net()
    before = model.fc.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    loader = [(torch.randn(4, 1, 8, 8), torch.randint(3, (4,))) for _ in range(2)]
    try:
        train_epoch(model, loader, optimizer, scaler)
    except AssertionError:
        pass
    return (model.fc.weight - before).norm().item()


TRUTH = Truth(fault="scaled gradients reach the weights", repair=("scaler.step(optimizer)",))


def verify(moved):
    assert moved > 1.0
