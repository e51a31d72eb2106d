"""Madry's training: the attack's backward leaves gradients in the model, cleared before the attack and not after it."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return self.fc(x.flatten(1))


def pgd(model, x, y, eps=0.3, alpha=0.1, steps=3):
    x_adv = (x + torch.empty_like(x).uniform_(-eps, eps)).clamp(0, 1)
    for _ in range(steps):
        x_adv = x_adv.detach().requires_grad_(True)
        F.cross_entropy(model(x_adv), y).backward()  # also
        with torch.no_grad():
            x_adv = x_adv + alpha * x_adv.grad.sign()
            x_adv = torch.min(torch.max(x_adv, x - eps), x + eps).clamp(0, 1)
    return x_adv.detach()


def run():
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=2e-4)
    before = x_adv = y = None
    for epoch in range(2):
        x, y = torch.rand(6, 1, 6, 6), torch.randint(0, 4, (6,))
        before = copy.deepcopy(model)
        opt.zero_grad()  # also
        x_adv = pgd(model, x, y)  # cause
        logits = model(x_adv)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        opt.step()
        with torch.no_grad():
            clean = (model(x).argmax(1) == y).float().mean().item()
        robust = (logits.argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} robust {robust:.2f} clean {clean:.2f}")
    return model, before, x_adv, y


def verify(out):
    model, before, x_adv, y = out
    want = torch.autograd.grad(F.cross_entropy(before(x_adv), y), before.fc.weight)[0]
    assert not torch.allclose(model.fc.weight.grad, want, rtol=0.05)


TRUTH = Truth(
    fault="the step also takes the gradients that the attack accumulated",
    names=("zero_grad",),
    repair=("x_adv = pgd(model, x, y)\nopt.zero_grad()",),
)
