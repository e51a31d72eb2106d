"""Quantisation-aware training: torch.round without straight-through makes every gradient exactly zero."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class FakeQuant(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.levels = 2 ** (bits - 1) - 1

    def forward(self, w):
        scale = w.detach().abs().max() / self.levels
        return torch.round(w / scale).clamp(-self.levels, self.levels) * scale  # cause


class QLinear(nn.Linear):
    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.quant = FakeQuant(bits)

    def forward(self, x):
        return nn.functional.linear(x, self.quant(self.weight), self.bias)


def build(n_in, n_hidden, n_out):
    return nn.Sequential(
        QLinear(n_in, n_hidden),
        nn.PReLU(),
        QLinear(n_hidden, n_hidden, bits=3),
        nn.PReLU(),
        nn.Linear(n_hidden, n_out),
    )


def main_loop(model, optimizer, n_steps):
    criterion = nn.HuberLoss()
    history = []
    for step in range(n_steps):
        x = torch.randn(12, 6)
        y = x.clamp(-1, 1)[:, :2]
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        history.append({n: p.grad.abs().max().item() for n, p in model.named_parameters()})
    return history


def run():
    torch.manual_seed(8)
    model = build(6, 10, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, nesterov=True, momentum=0.9)
    return main_loop(model, optimizer, 3)


def verify(history):
    for grads in history:
        assert grads["0.weight"] == 0 and grads["2.weight"] == 0
        assert grads["4.weight"] > 0 and grads["0.bias"] > 0


TRUTH = Truth(
    fault="round has a gradient of zero everywhere; without a straight-through estimator the quantised weights never learn",
    names=("round",),
    repair=("q = torch.round(w / scale).clamp(-self.levels, self.levels) * scale\nreturn w + (q - w).detach()",),
)
