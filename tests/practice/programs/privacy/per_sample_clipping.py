"""Differential privacy: per-sample gradients by vmap on detached copies, clipped, noised and written to .grad by hand. Healthy."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from tests.practice.truth import Truth


class ReadmissionNet(nn.Module):
    def __init__(self, features=9):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class DPTrainer:
    def __init__(self, model, lr=0.1, clip=1.0, noise=0.3):
        self.model, self.clip, self.noise = model, clip, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)

        def loss(params, x, y):
            return F.binary_cross_entropy_with_logits(functional_call(model, params, (x[None],))[0], y)

        self.sample_grads = vmap(grad(loss), in_dims=(None, 0, 0))

    def step(self, x, y):
        params = {k: p.detach() for k, p in self.model.named_parameters()}
        grads = self.sample_grads(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        for name, p in self.model.named_parameters():
            total = torch.einsum("b,b...->...", factor, grads[name])
            total += self.noise * self.clip * torch.randn_like(total)
            p.grad = total / x.size(0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return norms.mean().item()


@torch.no_grad()
def risk(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x), y).item()


def run():
    torch.manual_seed(0)
    model = ReadmissionNet()
    trainer = DPTrainer(model)
    x = torch.randn(64, 9)
    y = (x[:, 0] - x[:, 1] > 0).float()
    before, start = risk(model, x, y), [p.detach().clone() for p in model.parameters()]
    for _ in range(4):
        trainer.step(x, y)
    return before, risk(model, x, y), start, list(model.parameters())


def verify(outcome):
    before, after, start, now = outcome
    assert after < before
    assert all(not torch.equal(a, b) for a, b in zip(start, now))


TRUTH = Truth()
