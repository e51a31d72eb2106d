"""Vision: forward-forward training; each compiled layer has a loss and an optimizer of its own."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Layer(nn.Linear):
    def forward(self, x):
        x = x / (x.norm(dim=1, keepdim=True) + 1e-4)
        return torch.relu(super().forward(x))

    def goodness_loss(self, positive, negative, threshold=1.0):
        good, bad = self(positive).square().mean(1), self(negative).square().mean(1)
        return F.softplus(torch.cat([threshold - good, bad - threshold])).mean()


def with_label(images, labels, classes=4):
    images = images.clone()
    images[:, :classes] = F.one_hot(labels, classes).float()
    return images


def batch(n=24):
    labels = torch.randint(4, (n,))
    images = torch.randn(n, 16) * 0.3
    images[torch.arange(n), 4 + 3 * labels] += 2
    wrong = (labels + torch.randint(1, 4, (n,))) % 4
    return with_label(images, labels), with_label(images, wrong)


def setup():
    torch.manual_seed(0)


def run():
    layers = nn.ModuleList([Layer(16, 32), Layer(32, 32), Layer(32, 32)])
    optimizers = [torch.optim.Adam(layer.parameters(), lr=1e-2) for layer in layers]
    losses_of = [torch.compile(layer.goodness_loss, backend=BACKEND) for layer in layers]
    forwards = [torch.compile(layer, backend=BACKEND) for layer in layers]
    history, foreign = [], []
    for _ in range(5):
        positive, negative = batch()
        row = []
        for depth, (objective, forward, optimizer) in enumerate(zip(losses_of, forwards, optimizers)):
            loss = objective(positive, negative)
            optimizer.zero_grad()
            before = [None if p.grad is None else p.grad.clone() for p in layers[depth - 1].parameters()]
            loss.backward()
            if depth:
                foreign += [torch.equal(p.grad, b) for p, b in zip(layers[depth - 1].parameters(), before)]
            optimizer.step()
            with torch.no_grad():
                positive, negative = forward(positive), forward(negative)
            row.append(loss.item())
        history.append(row)
    return history, foreign, [p.grad.abs().sum().item() for p in layers.parameters()]


def verify(outcome):
    history, foreign, grads = outcome
    assert all(foreign) and min(grads) > 0
    assert history[-1][0] < history[0][0]
