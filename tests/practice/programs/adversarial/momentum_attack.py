"""PGD with a leaf delta: delta.grad is not cleared between the steps, so they follow the sum of all gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ViTish(nn.Module):
    def __init__(self, dim=16, n_classes=3):
        super().__init__()
        self.patchify = nn.Conv2d(3, dim, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.patchify(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1)
        return self.head(self.block(x)[:, 0])


class PGD:
    def __init__(self, model, eps=0.1, alpha=0.04, steps=4):
        self.model, self.eps, self.alpha, self.steps = model, eps, alpha, steps
        self.trace = []

    def attack(self, x, y):
        delta = torch.empty_like(x).uniform_(-self.eps, self.eps).requires_grad_(True)
        for _ in range(self.steps):
            loss = F.cross_entropy(self.model(x + delta), y)
            loss.backward()
            self.trace.append((delta.detach().clone(), delta.grad.clone()))
            with torch.no_grad():
                delta += self.alpha * delta.grad.sign()  # cause
                delta.clamp_(-self.eps, self.eps)
                delta.copy_((x + delta).clamp(0, 1) - x)
        return (x + delta).detach()


def run():
    torch.manual_seed(0)
    model = ViTish().eval()
    model.requires_grad_(False)
    x = torch.rand(4, 3, 8, 8)
    y = model(x).argmax(1)
    pgd = PGD(model)
    adv = pgd.attack(x, y)
    print("fooled", (model(adv).argmax(1) != y).float().mean().item())
    return model, x, y, pgd.trace


def verify(out):
    model, x, y, trace = out
    delta, used = trace[-1]
    delta.requires_grad_(True)
    (grad,) = torch.autograd.grad(F.cross_entropy(model(x + delta), y), delta)
    assert used.norm() > 2 * grad.norm()


TRUTH = Truth(
    fault="the gradient of the perturbation accumulates over the attack's steps",
    names=("delta",),
    repair=("delta += self.alpha * delta.grad.sign()\ndelta.grad = None",),
)
