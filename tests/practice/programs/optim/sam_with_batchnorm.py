"""SAM done right: weights cloned and restored through .data, batch norm's momentum off in the second pass, grads cleared between: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def disable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.backup_momentum, m.momentum = m.momentum, 0


def enable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d) and hasattr(m, "backup_momentum"):
            m.momentum = m.backup_momentum


class AdaptiveSAM:
    def __init__(self, optimizer, model, rho=0.5, eta=0.01):
        self.optimizer, self.model, self.rho, self.eta = optimizer, model, rho, eta
        self.saved = {}

    @torch.no_grad()
    def ascent(self):
        scaled = {n: (p.abs() + self.eta) * p.grad for n, p in self.model.named_parameters() if p.grad is not None}
        norm = torch.stack([g.norm() for g in scaled.values()]).norm() + 1e-16
        for n, p in self.model.named_parameters():
            if n in scaled:
                self.saved[n] = p.data.clone()
                p.data.add_((p.abs() + self.eta) * scaled[n], alpha=(self.rho / norm).item())
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descent(self):
        for n, p in self.model.named_parameters():
            if n in self.saved:
                p.data.copy_(self.saved[n])
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.saved.clear()


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = F.relu_(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = Net()
    base = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    minimizer = AdaptiveSAM(base, model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    counts, restored = [], []
    for _ in range(3):
        x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))
        weights = [p.detach().clone() for p in model.parameters()]

        enable_running_stats(model)
        F.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        minimizer.ascent()
        mean = model.bn1.running_mean.clone()

        disable_running_stats(model)
        F.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        counts.append(torch.equal(mean, model.bn1.running_mean))
        minimizer.descent()
        shift = torch.stack([(p.detach() - w).norm() for p, w in zip(model.parameters(), weights)]).norm()
        restored.append(shift.item() < 0.2)
    enable_running_stats(model)
    return counts, restored, before, {n: p.detach() for n, p in model.named_parameters()}


def verify(outcome):
    counts, restored, before, after = outcome
    assert all(counts) and all(restored)
    assert all(not torch.equal(before[n], after[n]) for n in before)


TRUTH = Truth()
