"""Tabular: DP-SGD writes p.grad itself from clipped gradients of single rows plus noise; the frozen part stays as it is."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.practice.truth import Truth


class CreditNet(nn.Module):
    def __init__(self, features=8):
        super().__init__()
        self.public = nn.Linear(features, 12)  # trained on open data, kept
        self.private = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        with torch.no_grad():
            h = F.relu(self.public(x))
        return self.private(h).squeeze(-1)


class DPTrainer:
    def __init__(self, model, lr=0.5, max_norm=0.5, noise=0.0):
        self.model, self.max_norm, self.noise = model, max_norm, noise
        model.public.requires_grad_(False)
        self.named = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.SGD(self.named.values(), lr=lr)

    def _row_loss(self, params, x, y):
        out = functional_call(self.model, params, (x.unsqueeze(0),))
        return F.binary_cross_entropy_with_logits(out, y.unsqueeze(0))

    def row_gradients(self, x, y):
        fixed = {n: p.detach() for n, p in self.model.named_parameters() if n not in self.named}

        def loss(trained, x, y):
            return self._row_loss({**trained, **fixed}, x, y)

        detached = {n: p.detach() for n, p in self.named.items()}
        return vmap(grad(loss), in_dims=(None, 0, 0))(detached, x, y)

    def step(self, x, y):
        rows = self.row_gradients(x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in rows.values()]).norm(dim=0)
        factor = (self.max_norm / (norms + 1e-6)).clamp(max=1.0)
        for n, p in self.named.items():
            clipped = torch.einsum("b,b...->...", factor, rows[n])
            p.grad = (clipped + self.noise * self.max_norm * torch.randn_like(p)) / len(x)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
        return rows, norms


def run():
    torch.manual_seed(0)
    model = CreditNet()
    trainer = DPTrainer(model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    agree = []
    for _ in range(3):
        x = torch.randn(10, 8)
        y = (x[:, 0] > 0).float()
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        whole = torch.autograd.grad(loss, list(trainer.named.values()))
        rows, _ = trainer.step(x, y)
        agree.append(all(torch.allclose(g, r.mean(0), atol=1e-6) for g, r in zip(whole, rows.values())))
    return agree, {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    agree, same = outcome
    assert all(agree)
    assert all(kept == n.startswith("public") for n, kept in same.items())


TRUTH = Truth()
