"""MAML whose flag cuts the inner gradients from the graph in the first epochs and keeps them later."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class MAML:
    def __init__(self, model, inner_lr):
        self.model, self.inner_lr = model, inner_lr

    def inner(self, x, y, steps, second_order):
        params = dict(self.model.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.model, params, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=second_order)
            params = {
                k: p - self.inner_lr * (g if second_order else g.detach()) for (k, p), g in zip(params.items(), grads)
            }
        return params

    def evaluate(self, x, y, xq, yq):
        params = self.inner(x, y, 3, second_order=False)
        with torch.no_grad():
            return F.mse_loss(functional_call(self.model, params, (xq,)), yq).item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 12), nn.Softplus(), nn.Linear(12, 1))
    maml = MAML(model, 0.02)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    val, norms = [], []
    for epoch in range(4):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(2):
            a = torch.rand(1) + 0.5
            x = torch.rand(16, 1) * 4 - 2
            y = a * x.sin()
            fast = maml.inner(x[:8], y[:8], steps=2, second_order=epoch >= 2)
            (F.mse_loss(functional_call(model, fast, (x[8:],)), y[8:]) / 2).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 10.0).item())
        optimizer.step()
        val.append(maml.evaluate(x[:8], y[:8], x[8:], y[8:]))
    return model, norms, val


TRUTH = Truth()


def verify(out):
    model, norms, val = out
    assert all(n > 0 for n in norms) and all(v < 100 for v in val)
    assert all(p.grad is not None for p in model.parameters())
