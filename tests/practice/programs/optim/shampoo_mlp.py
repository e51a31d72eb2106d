"""Shampoo by hand: a cached identity is handed to every layer, all their statistics gather in one matrix."""

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


@lru_cache(maxsize=None)
def scaled_identity(n, eps):
    return eps * torch.eye(n)


def inverse_root(matrix, power):
    values, vectors = torch.linalg.eigh(matrix)
    return vectors @ torch.diag(values.clamp_min(1e-12).pow(-1.0 / power)) @ vectors.t()


class Shampoo(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, eps=1e-3, update_freq=1):
        super().__init__(params, dict(lr=lr, eps=eps, update_freq=update_freq))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["left"] = scaled_identity(p.size(0), group["eps"])  # cause
                    state["right"] = scaled_identity(p[0].numel(), group["eps"])  # cause
                grad = p.grad.reshape(p.size(0), -1)
                state["left"].add_(grad @ grad.t())
                state["right"].add_(grad.t() @ grad)
                if state["step"] % group["update_freq"] == 0:
                    state["inv_left"] = inverse_root(state["left"], 4)
                    state["inv_right"] = inverse_root(state["right"], 4)
                state["step"] += 1
                update = state["inv_left"] @ grad @ state["inv_right"]
                p.add_(update.view_as(p), alpha=-group["lr"])


class MLP(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.inp = nn.Linear(5, width, bias=False)
        self.hidden = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.out = nn.Linear(width, 2, bias=False)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.hidden:
            x = x + torch.tanh(layer(x))
        return self.out(x)


def run():
    torch.manual_seed(0)
    scaled_identity.cache_clear()
    model = MLP()
    optimizer = Shampoo(model.parameters())
    truth = {name: 1e-3 * torch.eye(p.size(0)) for name, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(16, 5)
        y = torch.stack([x.sum(-1), x.prod(-1)], dim=-1)
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        for name, p in model.named_parameters():
            truth[name] += p.grad @ p.grad.t()
        optimizer.step()
    first, second = (optimizer.state[layer.weight]["left"] for layer in model.hidden[:2])
    return first, second, truth["hidden.0.weight"]


def verify(outcome):
    first, second, truth = outcome
    assert torch.equal(first, second) and not torch.allclose(first, truth)


TRUTH = Truth(
    fault="the statistics of layers of one size are one tensor, the one the cache returned",
    names=("left", "right"),
    repair=(
        'state["left"] = scaled_identity(p.size(0), group["eps"]).clone()',
        'state["right"] = scaled_identity(p[0].numel(), group["eps"]).clone()',
    ),
)
