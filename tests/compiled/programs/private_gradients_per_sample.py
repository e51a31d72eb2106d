"""DP-SGD: per-sample gradients by vmap and grad in a compiled function, clipped, noised, put in .grad: healthy."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(7, 12), nn.Linear(12, 2)

    def forward(self, x):
        return self.outer(F.softplus(self.inner(x)))


def make_private(model, bound, sigma):
    def one_loss(params, x, y):
        return F.cross_entropy(functional_call(model, params, (x.unsqueeze(0),)), y.unsqueeze(0))

    def private(params, x, y, noise):
        each = vmap(grad(one_loss), in_dims=(None, 0, 0))(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
        weight = (bound / (norms + 1e-6)).clamp(max=1.0)
        clipped = {name: torch.einsum("n,n...->...", weight, g) for name, g in each.items()}
        return {name: (g + sigma * bound * noise[name]) / len(x) for name, g in clipped.items()}, norms

    return torch.compile(private, backend=BACKEND)


def run():
    torch.manual_seed(0)
    model = Tabular()
    private = make_private(model, bound=0.5, sigma=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    pairs = []
    for _ in range(3):
        x, y = torch.randn(10, 7), torch.randint(2, (10,))
        params = {name: p.detach() for name, p in model.named_parameters()}
        noise = {name: torch.randn_like(p) for name, p in params.items()}
        grads, norms = private(params, x, y, noise)
        optimizer.zero_grad(set_to_none=True)
        for name, p in model.named_parameters():
            p.grad = grads[name]
        summed = [0.05 * noise[name] for name in params]
        for i in range(10):
            loss = F.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
            own = torch.autograd.grad(loss, list(model.parameters()))
            scale = min(1.0, 0.5 / (norms[i].item() + 1e-6))
            summed = [s + scale * g for s, g in zip(summed, own)]
        pairs += [(p.grad.clone(), s / 10) for p, s in zip(model.parameters(), summed)]
        optimizer.step()
    return pairs


def verify(outcome):
    assert all(torch.allclose(got, wanted, atol=1e-6) for got, wanted in outcome)


TRUTH = Truth()
