"""Few-shot dialect recognition: the fast weights' names lack a prefix, functional_call silently uses the model's own weights."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class DialectNet(nn.Module):
    def __init__(self, mfcc=13, dialects=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(mfcc, 20), nn.ReLU(), nn.Linear(20, 12), nn.ReLU())
        self.classifier = nn.Linear(12, dialects)

    def forward(self, x):
        return self.classifier(self.encoder(x))


class ANIL:
    """Almost no inner loop: only the classifier adapts within a task."""

    def __init__(self, model, inner_lr=0.5, steps=2):
        self.model, self.inner_lr, self.steps = model, inner_lr, steps
        self.gain = []

    def logits(self, head, x):
        return functional_call(self.model, head, (x,))  # also

    def task_loss(self, xs, ys, xq, yq):
        head = dict(self.model.classifier.named_parameters())  # cause
        for _ in range(self.steps):
            loss = F.cross_entropy(self.logits(head, xs), ys)
            grads = torch.autograd.grad(loss, list(head.values()), create_graph=True, allow_unused=True)
            head = {k: w - self.inner_lr * g for (k, w), g in zip(head.items(), grads) if g is not None}
        before = F.cross_entropy(self.model(xq), yq)
        after = F.cross_entropy(self.logits(head, xq), yq)
        self.gain.append((before - after).item())
        return after


def speakers(n):
    for _ in range(n):
        centre = torch.randn(3, 13)
        y = torch.arange(18) % 3
        x = centre[y] + 0.3 * torch.randn(18, 13)
        yield x[:9], y[:9], x[9:], y[9:]


def run():
    torch.manual_seed(0)
    anil = ANIL(DialectNet())
    optimizer = torch.optim.Adam(anil.model.parameters(), lr=3e-3)
    for _ in range(3):
        loss = torch.stack([anil.task_loss(*task) for task in speakers(3)]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return anil.gain


def verify(outcome):
    assert all(g == 0.0 for g in outcome)


TRUTH = Truth(
    fault='"weight" and "bias" are no names of the whole model: nothing is replaced and the adaptation has no effect',
    names=("functional_call", "classifier"),
    repair=('head = {f"classifier.{k}": p for k, p in self.model.classifier.named_parameters()}',),
)
