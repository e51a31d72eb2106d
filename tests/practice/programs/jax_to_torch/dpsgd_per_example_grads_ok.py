"""JAX to PyTorch, healthy: vmap(grad) on detached parameters, clipped for each example, then written to .grad by hand."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 12)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


class PrivateStep:
    def __init__(self, model, optimizer, clip=0.5, noise=0.0):
        self.model, self.optimizer = model, optimizer
        self.clip, self.noise = clip, noise

        def example_loss(params, x, y):
            return F.cross_entropy(functional_call(model, params, (x[None],)), y[None])

        self.example_grads = vmap(grad(example_loss), in_dims=(None, 0, 0))

    def __call__(self, x, y):
        params = {name: p.detach() for name, p in self.model.named_parameters()}
        grads = self.example_grads(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factors = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        self.optimizer.zero_grad()
        for name, p in self.model.named_parameters():
            clipped = torch.einsum("b,b...->...", factors, grads[name]) / len(x)
            p.grad = clipped + self.noise * torch.randn_like(clipped)
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    model = Net()
    step = PrivateStep(model, torch.optim.SGD(model.parameters(), lr=0.1), clip=1e6)
    before = model.hidden.weight.detach().clone()
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    (right,) = torch.autograd.grad(F.cross_entropy(model(x), y), model.hidden.weight)
    step(x, y)
    used = model.hidden.weight.grad.clone()
    for _ in range(2):
        step(torch.randn(10, 6), torch.randint(0, 3, (10,)))
    return before, model.hidden.weight.detach(), right, used


def verify(outcome):
    before, after, right, used = outcome
    assert not torch.equal(before, after)
    assert torch.allclose(right, used, atol=1e-6)


TRUTH = Truth()
