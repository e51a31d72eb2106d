"""optax to PyTorch: the functional `params = apply_updates(params, updates)` trains copies; the module that is saved keeps its first weights."""

import io

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(F.silu(self.hidden(x))).squeeze(-1)


class Momentum:
    def __init__(self, learning_rate=0.05, decay=0.9):
        self.learning_rate, self.decay = learning_rate, decay

    def init(self, params):
        return {name: torch.zeros_like(p) for name, p in params.items()}

    def update(self, grads, trace):
        trace = {name: g + self.decay * trace[name] for name, g in grads.items()}
        return {name: -self.learning_rate * t for name, t in trace.items()}, trace


def apply_updates(params, updates):
    return {name: (p + updates[name]).detach().requires_grad_() for name, p in params.items()}


def value_and_grad(model, params, x, y):
    loss = F.mse_loss(functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()))
    return loss.detach(), dict(zip(params, grads, strict=True))


def fit(model, steps=4):
    tx = Momentum()
    params = dict(model.named_parameters())  # also
    opt_state = tx.init(params)
    for _ in range(steps):
        x = torch.randn(16, 5)
        _, grads = value_and_grad(model, params, x, x.sum(dim=1))
        updates, opt_state = tx.update(grads, opt_state)
        params = apply_updates(params, updates)  # also
    return model  # cause


def run():
    torch.manual_seed(0)
    model = Regressor()
    before = model.hidden.weight.detach().clone()
    model = fit(model)
    checkpoint = io.BytesIO()
    torch.save(model.state_dict(), checkpoint)
    checkpoint.seek(0)
    return before, torch.load(checkpoint)["hidden.weight"]


def verify(outcome):
    before, saved = outcome
    assert torch.equal(before, saved)


TRUTH = Truth(
    fault="only the functional copies of the parameters are trained; the module is returned and saved untrained",
    names=("hidden.weight",),
    repair=("model.load_state_dict(params)\nreturn model",),
)
