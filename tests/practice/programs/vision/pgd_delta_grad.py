"""Robustness: the attack never clears delta's gradient, so that its steps follow the sum of all gradients so far."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

lower_limit, upper_limit = 0.0, 1.0


def clamp(X, low, high):
    return torch.max(torch.min(X, torch.as_tensor(high)), torch.as_tensor(low))


class PreActBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(planes), nn.BatchNorm2d(planes)
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)

    def forward(self, x):
        out = self.conv1(F.relu(self.bn1(x)))
        return self.conv2(F.relu(self.bn2(out))) + x


class Classifier(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.block = PreActBlock(8)
        self.linear = nn.Linear(8, classes)

    def forward(self, x):
        return self.linear(F.relu(self.block(self.stem(x))).mean((2, 3)))


class PGD:
    def __init__(self, model, epsilon=8 / 255, alpha=2 / 255, iters=4, restarts=1):
        self.model, self.epsilon, self.alpha, self.iters, self.restarts = model, epsilon, alpha, iters, restarts
        self.fresh = []

    def init_delta(self, X):
        delta = torch.zeros_like(X).uniform_(-self.epsilon, self.epsilon)
        delta.data = clamp(delta, lower_limit - X, upper_limit - X)
        delta.requires_grad = True
        return delta

    def attack(self, X, y):
        max_loss = torch.full((len(y),), -1.0)
        max_delta = torch.zeros_like(X)
        for _ in range(self.restarts):
            delta = self.init_delta(X)
            for _ in range(self.iters):
                loss = F.cross_entropy(self.model(X + delta), y)
                own = torch.autograd.grad(loss, delta, retain_graph=True)[0]
                loss.backward()
                grad = delta.grad.detach()
                self.fresh.append(torch.allclose(own, grad, atol=1e-9))
                d = torch.clamp(delta + self.alpha * torch.sign(grad), -self.epsilon, self.epsilon)
                delta.data = clamp(d, lower_limit - X, upper_limit - X)  # cause
            all_loss = F.cross_entropy(self.model(X + delta), y, reduction="none").detach()
            better = all_loss >= max_loss
            max_delta[better] = delta.detach()[better]
            max_loss = torch.max(max_loss, all_loss)
        return max_delta


def train_epoch(model, loader, opt, scheduler, pgd):
    model.train()
    for X, y in loader:
        for p in model.parameters():
            p.requires_grad_(False)
        model.eval()
        delta = pgd.attack(X, y)
        model.train()
        for p in model.parameters():
            p.requires_grad_(True)
        output = model(torch.clamp(X + delta, 0, 1))
        loss = F.cross_entropy(output, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = Classifier()
    loader = [(torch.rand(6, 3, 8, 8), torch.randint(0, 4, (6,))) for _ in range(3)]
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.0, max_lr=0.1, step_size_up=2, step_size_down=2)
    pgd = PGD(model)
    train_epoch(model, loader, opt, scheduler, pgd)
    return pgd.fresh


def verify(fresh):
    per_attack = [fresh[i : i + 4] for i in range(0, len(fresh), 4)]
    assert all(a[0] and not any(a[1:]) for a in per_attack)


TRUTH = Truth(
    fault="delta.grad is not cleared between the steps of the attack",
    names=("delta",),
    repair=("delta.data = clamp(d, lower_limit - X, upper_limit - X)\ndelta.grad.zero_()",),
)
