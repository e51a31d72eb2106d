"""DP-SGD by hand: per-example gradients by vmap, clipped, noised and written into .grad: healthy."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.practice.truth import Truth


class TabularNet(nn.Module):
    def __init__(self, width=9, hidden=16):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(width, hidden), nn.GroupNorm(4, hidden), nn.Linear(hidden, 2)

    def forward(self, x):
        return self.fc2(torch.tanh(self.norm(self.fc1(x))))


class PrivateTrainer:
    def __init__(self, model, max_norm=1.0, sigma=0.5, lr=0.05):
        self.model, self.max_norm, self.sigma = model, max_norm, sigma
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.generator = torch.Generator().manual_seed(1)
        self.per_example = vmap(grad(self._loss), in_dims=(None, 0, 0))

    def _loss(self, params, x, y):
        logits = functional_call(self.model, params, (x.unsqueeze(0),))
        return F.cross_entropy(logits, y.unsqueeze(0))

    def step(self, x, y):
        params = {name: p.detach() for name, p in self.model.named_parameters()}
        grads = self.per_example(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.max_norm / (norms + 1e-6)).clamp(max=1.0)
        for name, p in self.model.named_parameters():
            g = torch.einsum("b,b...->...", factor, grads[name])
            noise = torch.randn(p.shape, generator=self.generator) * self.sigma * self.max_norm
            p.grad = (g + noise) / len(x)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return norms, factor


def reference_norms(model, x, y):
    result = []
    for i in range(len(x)):
        loss = F.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        grads = torch.autograd.grad(loss, list(model.parameters()))
        result.append(torch.cat([g.flatten() for g in grads]).norm())
    return torch.stack(result)


def run():
    torch.manual_seed(0)
    model = TabularNet()
    trainer = PrivateTrainer(model)
    before = [p.detach().clone() for p in model.parameters()]
    checks = []
    for _ in range(3):
        x, y = torch.randn(12, 9) * 2, torch.randint(0, 2, (12,))
        expected = reference_norms(model, x, y)
        norms, factor = trainer.step(x, y)
        checks.append(torch.allclose(norms, expected, rtol=1e-4) and bool((norms * factor <= 1.0 + 1e-4).all()))
    return before, [p.detach() for p in model.parameters()], checks


def verify(outcome):
    before, after, checks = outcome
    assert all(checks) and all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
