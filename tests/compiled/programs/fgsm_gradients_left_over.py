"""Adversarial training with a compiled classifier: the weights' gradients of the attack are still there at the step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 6, 3), nn.Linear(6 * 9, 10)

    def forward(self, x):
        return self.head(F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1))


@torch.compile(backend=BACKEND)
def loss_fn(model, x, y):
    return F.cross_entropy(model(x), y)


def attack(model, x, y, eps):
    x = x.clone().requires_grad_()
    loss_fn(model, x, y).backward()  # also
    return (x + eps * x.grad.sign()).detach().clamp(0, 1)


def run():
    torch.manual_seed(0)
    model = Digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    differences = []
    for _ in range(3):
        x, y = torch.rand(8, 1, 8, 8), torch.randint(10, (8,))
        optimizer.zero_grad()  # also
        hard = attack(model, x, y, 8 / 255)
        loss = loss_fn(model, hard, y)  # cause
        loss.backward()  # symptom
        alone = torch.autograd.grad(F.cross_entropy(model(hard), y), list(model.parameters()))
        differences.append(max((p.grad - g).abs().max().item() for p, g in zip(model.parameters(), alone)))
        optimizer.step()
    return differences


def verify(outcome):
    assert all(difference > 1e-3 for difference in outcome)


TRUTH = Truth(
    fault="the attack's backward adds to the parameters' gradients, and they are not zeroed after it",
    names=("zero_grad", "attack"),
    repair=("optimizer.zero_grad(); loss = loss_fn(model, hard, y)",),
)
