"""Domain-adversarial training: a gradient reversal function inside a compiled model: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


class Dann(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.label, self.domain = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, x, weight):
        h = self.features(x)
        return self.label(h), self.domain(Reverse.apply(h, weight)).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Dann()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for weight in (0.25, 0.25, 0.5):
        x, y = torch.randn(12, 6), torch.randint(3, (12,))
        domain = (torch.arange(12) % 2).float()
        x = x + domain.unsqueeze(-1)
        labels, guess = forward(x, weight)
        source = domain == 0
        loss = F.cross_entropy(labels[source], y[source]) + F.binary_cross_entropy_with_logits(guess, domain)
        optimizer.zero_grad()
        loss.backward()
        h = model.features(x)
        first = model.features[0].weight
        task = torch.autograd.grad(F.cross_entropy(model.label(h)[source], y[source]), first, retain_graph=True)[0]
        fool = F.binary_cross_entropy_with_logits(model.domain(h).squeeze(-1), domain)
        against, own = torch.autograd.grad(fool, (first, model.domain.weight))
        seen.append((first.grad.clone(), task - weight * against, model.domain.weight.grad.clone(), own))
        optimizer.step()
    return seen


def verify(outcome):
    for got, wanted, domain, own in outcome:
        assert torch.allclose(got, wanted, atol=1e-6) and torch.allclose(domain, own, atol=1e-6)


TRUTH = Truth()
