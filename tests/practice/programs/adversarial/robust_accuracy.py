"""Robust accuracy: the whole evaluation is decorated with no_grad, and the attack in it needs gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def pgd_l2(model, x, y, eps=0.5, alpha=0.2, steps=3):
    delta = torch.zeros_like(x)
    for _ in range(steps):
        delta.requires_grad_(True)
        loss = F.cross_entropy(model(x + delta), y)  # also
        (grad,) = torch.autograd.grad(loss, delta)  # symptom
        grad = grad / (grad.flatten(1).norm(dim=1).view(-1, 1, 1, 1) + 1e-12)
        delta = (delta + alpha * grad).detach()
        norm = delta.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        delta = delta * (eps / (norm + 1e-12)).clamp(max=1.0)
    return (x + delta).clamp(0, 1)


@torch.no_grad()  # cause
def evaluate(model, loader, attack=None):
    model.eval()
    correct = total = 0
    for x, y in loader:
        if attack is not None:
            x = attack(model, x, y)  # also
        correct += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return correct / total


def train(model, loader, opt, sched):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(54, 3)
    )
    data = [(torch.rand(4, 1, 6, 6), torch.randint(0, 3, (4,))) for _ in range(2)]
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=4)
    for epoch in range(2):
        train(model, data, opt, sched)
        clean, robust = evaluate(model, data), evaluate(model, data, pgd_l2)
        print(f"epoch {epoch} clean {clean:.2f} robust {robust:.2f}")


TRUTH = Truth(
    fault="the attack runs under no_grad",
    raises="element 0 of tensors does not require grad",
    names=("no_grad",),
    repair=("",),
)
