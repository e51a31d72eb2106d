"""Per-sample gradients (DP-SGD like) with torch.func: the clipped gradients are averaged but never put into p.grad."""

import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

from tests.practice.truth import Truth


class Logit(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.fc1 = nn.Linear(n, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class PrivateTrainer:
    def __init__(self, model, lr, max_norm, sigma):
        self.model = model
        self.max_norm, self.sigma = max_norm, sigma
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

        def loss_of(params, x, y):
            logits = functional_call(model, params, (x.unsqueeze(0),))
            return nn.functional.cross_entropy(logits, y.unsqueeze(0))

        self.per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))

    def private_gradient(self, x, y):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads = self.per_sample(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()], 1).norm(dim=1)
        factor = (self.max_norm / (norms + 1e-6)).clamp(max=1.0)
        out = {}
        for n, g in grads.items():
            clipped = torch.einsum("b,b...->...", factor, g)
            out[n] = (clipped + self.sigma * self.max_norm * torch.randn_like(clipped)) / len(x)
        return out

    def step(self, x, y):
        self.optimizer.zero_grad()
        grads = self.private_gradient(x, y)
        for name, p in self.model.named_parameters():
            p.private_grad = grads[name]  # cause
        self.optimizer.step()  # also
        with torch.no_grad():
            return nn.functional.cross_entropy(self.model(x), y).item()


def run():
    torch.manual_seed(0)
    trainer = PrivateTrainer(Logit(), lr=0.5, max_norm=1.0, sigma=0.1)
    x = torch.randn(24, 6)
    y = (x[:, 0] > x[:, 1]).long()
    return [trainer.step(x, y) for _ in range(4)]


def verify(losses):
    assert len(set(losses)) == 1, losses


TRUTH = Truth(
    fault="torch.func.grad returns gradients and fills no .grad; they are stored elsewhere and the optimizer steps on None",
    names=("grad",),
    repair=("p.grad = grads[name]",),
)
