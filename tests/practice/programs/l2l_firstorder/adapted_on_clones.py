"""learn2learn-like first-order MAML, and right: fast weights are detached copies; their gradients are added to the slow ones."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

from tests.practice.truth import Truth


class Omniglot(nn.Module):
    def __init__(self, dim=8, ways=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 16), nn.LayerNorm(16), nn.ReLU())
        self.classifier = nn.Linear(16, ways)

    def forward(self, x):
        return self.classifier(self.features(x))


class FOMAML:
    def __init__(self, model, inner_lr):
        self.model, self.inner_lr = model, inner_lr

    def adapt(self, x, y, steps):
        fast = {n: p.detach().clone().requires_grad_(True) for n, p in self.model.named_parameters()}
        for _ in range(steps):
            loss = F.cross_entropy(functional_call(self.model, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()))
            fast = {n: (w - self.inner_lr * g).detach().requires_grad_(True) for (n, w), g in zip(fast.items(), grads)}
        return fast

    def meta_gradients(self, fast, x, y):
        loss = F.cross_entropy(functional_call(self.model, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()))
        for p, g in zip(self.model.parameters(), grads):
            p.grad = g.clone() if p.grad is None else p.grad + g
        return loss.item()


def sample_task(ways=3, shots=4):
    prototypes = torch.randn(ways, 8)
    y = torch.arange(ways).repeat(2 * shots)
    x = prototypes[y] + 0.1 * torch.randn(len(y), 8)
    half = len(y) // 2
    return (x[:half], y[:half]), (x[half:], y[half:])


def run():
    torch.manual_seed(0)
    model = Omniglot()
    maml = FOMAML(model, inner_lr=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    meta_batch = 3
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(meta_batch):
            support, query = sample_task()
            fast = maml.adapt(*support, steps=2)
            total += maml.meta_gradients(fast, *query)
        with torch.no_grad():
            for p in model.parameters():
                p.grad.div_(meta_batch)
        optimizer.step()
        losses.append(total / meta_batch)
    return losses, {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    losses, moved = outcome
    assert all(v > 0 for v in moved.values())
    assert losses[-1] == losses[-1]


TRUTH = Truth()
