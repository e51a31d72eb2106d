"""K-FAC: hooks gather the factors from inputs and output gradients, and preconditioned gradients are written into .grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class KFAC:
    def __init__(self, model, lr, damping=0.1, decay=0.9, freq=2):
        self.model, self.damping, self.decay, self.freq, self.steps = model, damping, decay, freq, 0
        self.sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.A, self.G, self.inv = {}, {}, {}
        self.layers = [m for m in model if isinstance(m, nn.Linear)]
        for m in self.layers:
            m.register_forward_pre_hook(self._input)
            m.register_full_backward_hook(self._grad)

    def _ema(self, store, m, new):
        store[m] = new if m not in store else store[m] * self.decay + new * (1 - self.decay)

    def _input(self, m, inputs):
        if torch.is_grad_enabled() and self.steps % self.freq == 0:
            a = inputs[0].data
            a = torch.cat([a, a.new_ones(len(a), 1)], 1)
            self._ema(self.A, m, a.t() @ a / len(a))

    def _grad(self, m, grad_input, grad_output):
        if self.steps % self.freq == 0:
            g = grad_output[0].data * len(grad_output[0])
            self._ema(self.G, m, g.t() @ g / len(g))

    @torch.no_grad()
    def step(self):
        for m in self.layers:
            if self.steps % self.freq == 0:
                eye = lambda t: torch.eye(len(t)) * self.damping**0.5
                self.inv[m] = torch.linalg.inv(self.A[m] + eye(self.A[m])), torch.linalg.inv(self.G[m] + eye(self.G[m]))
            a_inv, g_inv = self.inv[m]
            v = g_inv @ torch.cat([m.weight.grad, m.bias.grad[:, None]], 1) @ a_inv
            m.weight.grad.copy_(v[:, :-1])
            m.bias.grad.copy_(v[:, -1])
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.sgd.step()
        self.steps += 1


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    optimizer = KFAC(model, lr=0.05)
    losses = []
    for _ in range(4):
        x = torch.randn(32, 6)
        y = x[:, :3].argmax(1)
        loss = F.cross_entropy(model(x), y)
        optimizer.sgd.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(x), y).item())
    return model, optimizer, losses


TRUTH = Truth()


def verify(out):
    model, optimizer, losses = out
    assert losses[-1] < losses[0] and not any(t.requires_grad for t in (*optimizer.A.values(), *optimizer.G.values()))
    assert all(torch.isfinite(p).all() for p in model.parameters()) and len(optimizer.inv) == 2
