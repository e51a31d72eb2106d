"""Carlini-Wagner: pixels of exactly 0 or 1 go through atanh unshrunk, w starts infinite and its gradient is NaN."""

import torch
from torch import nn

from tests.practice.truth import Truth


class CW:
    def __init__(self, model, c=1.0, kappa=0.0, steps=4, lr=0.01):
        self.model, self.c, self.kappa, self.steps, self.lr = model, c, kappa, steps, lr

    def tanh_space(self, w):
        e = torch.exp(-2 * w)
        return 0.5 * ((1 - e) / (1 + e) + 1)

    def inverse_tanh_space(self, x):
        return torch.atanh(x * 2 - 1)  # cause

    def f(self, logits, labels):
        one_hot = nn.functional.one_hot(labels, logits.shape[1]).bool()
        other = logits.masked_fill(one_hot, -1e4).max(1).values
        real = logits[one_hot]
        return torch.clamp(real - other, min=-self.kappa)

    def __call__(self, images, labels):
        w = self.inverse_tanh_space(images).detach().requires_grad_(True)  # also
        optimizer = torch.optim.Adam([w], lr=self.lr)
        best = images.clone()
        for _ in range(self.steps):
            adv = self.tanh_space(w)
            logits = self.model(adv)
            l2 = (adv - images).pow(2).flatten(1).sum(1)
            cost = l2.sum() + self.c * self.f(logits, labels).sum()
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            fooled = (logits.argmax(1) != labels).view(-1, 1, 1, 1)
            best = torch.where(fooled, adv.detach(), best)
        return best, w


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 4)).eval()
    net.requires_grad_(False)
    images = torch.rand(3, 1, 8, 8)
    images[:, :, :2] = 0.0  # the black frame of a digit
    with torch.no_grad():
        labels = net(images).argmax(1)
    _, w = CW(net)(images, labels)
    return w


def verify(w):
    assert w.grad.isnan().any()


TRUTH = Truth(
    values=True,
    fault="atanh of -1 is infinite",
    repair=("return torch.atanh((x * 2 - 1) * 0.999999)",),
)
