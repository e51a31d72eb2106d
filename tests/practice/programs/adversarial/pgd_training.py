"""Adversarial training: the attack's backward passes leave gradients in the model, and the update takes them along."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8 * 16, classes)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 4).flatten(1))


class PGD:
    def __init__(self, model, eps=0.3, alpha=0.1, steps=3):
        self.model, self.eps, self.alpha, self.steps = model, eps, alpha, steps

    def perturb(self, x, y):
        delta = torch.empty_like(x).uniform_(-self.eps, self.eps)
        delta.requires_grad_()
        for _ in range(self.steps):
            F.cross_entropy(self.model(x + delta), y).backward()
            with torch.no_grad():
                delta += self.alpha * delta.grad.sign()
                delta.clamp_(-self.eps, self.eps)
            delta.grad = None
        return (x + delta).detach()


def stripes(n=12, size=8):
    y = torch.randint(0, 3, (n,))
    wave = torch.sin(torch.arange(size).float() * (1 + y.float()).unsqueeze(1))
    return wave.view(n, 1, 1, size).expand(n, 1, size, size) + 0.2 * torch.randn(n, 1, size, size), y


def train_step(model, attack, optimizer, x, y):
    model.train()
    optimizer.zero_grad()  # also
    x_adv = attack.perturb(x, y)  # cause
    loss = 0.5 * (F.cross_entropy(model(x), y) + F.cross_entropy(model(x_adv), y))
    (expected,) = torch.autograd.grad(loss, model.fc.weight, retain_graph=True)  # for the log
    loss.backward()
    used = model.fc.weight.grad.clone()
    optimizer.step()
    return expected, used


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def run():
    torch.manual_seed(0)
    model = ConvNet()
    attack = PGD(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=2e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2])
    pairs = []
    for _ in range(4):
        x, y = stripes()
        pairs.append(train_step(model, attack, optimizer, x, y))
        scheduler.step()
    return pairs, accuracy(model, *stripes())


def verify(outcome):
    pairs, _ = outcome
    assert all(used.norm() > 2 * expected.norm() for expected, used in pairs)


TRUTH = Truth(
    fault="zero_grad comes before the attack: the model steps on the sum of the attack's gradients and the loss's",
    names=("perturb", "zero_grad"),
    repair=("x_adv = attack.perturb(x, y)\noptimizer.zero_grad()",),
)
