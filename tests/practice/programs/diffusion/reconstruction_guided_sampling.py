"""Guided sampling: at each step the gradient of a measurement's error is taken of the noisy sample alone."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(7, 24), nn.SiLU(), nn.Linear(24, 6))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.expand(len(x), 1)], 1))


@torch.enable_grad()
def guidance(model, x, t, a_bar, y, operator):
    x = x.detach().requires_grad_()
    eps = model(x, t)
    x0 = (x - (1 - a_bar).sqrt() * eps) / a_bar.sqrt()
    norm = torch.linalg.norm(y - operator(x0))
    (grad,) = torch.autograd.grad(norm, x)
    return eps.detach(), x0.detach(), grad, norm.item()


@torch.no_grad()
def sample(model, y, operator, alphas, scale=0.3):
    a_bars = alphas.cumprod(0)
    x, errors = torch.randn(2, 6), []
    for i in range(len(alphas) - 1, -1, -1):
        t = torch.tensor([i / len(alphas)])
        eps, x0, grad, error = guidance(model, x, t, a_bars[i], y, operator)
        prev = a_bars[i - 1] if i else torch.ones(())
        x = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
        x -= scale * grad
        errors.append(error)
    return x, errors


def run():
    torch.manual_seed(0)
    model = Denoise()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    alphas = torch.linspace(0.99, 0.9, 6)
    a_bars = alphas.cumprod(0)
    for _ in range(3):
        x0, i = torch.randn(16, 6), torch.randint(6, (1,))
        noise = torch.randn_like(x0)
        loss = (model(a_bars[i].sqrt() * x0 + (1 - a_bars[i]).sqrt() * noise, i / 6) - noise).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    grads = [p.grad.clone() for p in model.parameters()]
    x, errors = sample(model, torch.ones(2, 3), lambda v: v[:, :3], alphas)
    return model, grads, x, errors


TRUTH = Truth()


def verify(out):
    model, grads, x, errors = out
    assert all(torch.equal(g, p.grad) for g, p in zip(grads, model.parameters()))
    assert not x.requires_grad and all(e < 100 for e in errors) and errors[-1] < errors[0]
