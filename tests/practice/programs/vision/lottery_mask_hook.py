"""Pruning: the hook that masks the gradients of pruned weights returns nothing, and the pruned weights grow again."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class LeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 4, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def prunable(model):
    return {n: p for n, p in model.named_parameters() if "weight" in n}


class Ticket:
    """Masks of a lottery ticket, and what keeps the pruned weights at zero."""

    def __init__(self, model):
        self.model = model
        self.initial = copy.deepcopy(model.state_dict())
        self.masks = {n: torch.ones_like(p) for n, p in prunable(model).items()}
        self.handles = []

    def prune_by_percentile(self, percent):
        for name, param in prunable(self.model).items():
            alive = param.data[self.masks[name] > 0].abs()
            threshold = torch.quantile(alive, percent)
            self.masks[name] = torch.where(param.data.abs() < threshold, torch.zeros(()), self.masks[name])

    def rewind(self):
        self.model.load_state_dict(self.initial)
        for name, param in prunable(self.model).items():
            param.data.mul_(self.masks[name])

    def freeze_pruned(self):
        while self.handles:
            self.handles.pop().remove()
        for name, param in prunable(self.model).items():
            self.handles.append(param.register_hook(self._masker(self.masks[name])))

    @staticmethod
    def _masker(mask):
        def hook(grad):
            grad = grad * mask  # cause

        return hook

    def sparsity(self):
        zeros = sum(int((p == 0).sum()) for p in prunable(self.model).values())
        return zeros / sum(p.numel() for p in prunable(self.model).values())

    def regrown(self):
        return sum(int(((p != 0) & (self.masks[n] == 0)).sum()) for n, p in prunable(self.model).items())


def train(model, loader, optimizer):
    model.train()
    for imgs, targets in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(imgs), targets)
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).float().mean().item() for x, y in loader) / len(loader)


def run(rounds=2, percent=0.4):
    torch.manual_seed(0)
    model = LeNet()
    loader = [(torch.randn(8, 1, 8, 8), torch.randint(0, 4, (8,))) for _ in range(3)]
    ticket = Ticket(model)
    regrown = []
    for _ in range(rounds):
        train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
        ticket.prune_by_percentile(percent)
        ticket.rewind()
        ticket.freeze_pruned()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train(model, loader, optimizer)
        test(model, loader)
        regrown.append(ticket.regrown())
    return regrown


def verify(regrown):
    assert min(regrown) > 0


TRUTH = Truth(
    fault="the gradient hook returns None, the mask has no effect and pruned weights move",
    names=("hook",),
    repair=("return grad * mask",),
)
