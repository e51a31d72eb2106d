"""An echo state network: the reservoir is a buffer that never learns, and only the read-out is trained."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Reservoir(nn.Module):
    def __init__(self, inputs, units, radius=0.9, leak=0.3):
        super().__init__()
        w = torch.randn(units, units) * (torch.rand(units, units) < 0.2)
        w *= radius / torch.linalg.eigvals(w).abs().max().item()
        self.register_buffer("w", w)
        self.register_buffer("w_in", torch.rand(units, inputs) - 0.5)
        self.leak = leak

    @torch.no_grad()
    def forward(self, x, state=None):
        state = x.new_zeros(x.shape[0], len(self.w)) if state is None else state
        states = x.new_empty(x.shape[0], x.shape[1], len(self.w))
        for t in range(x.shape[1]):
            new = torch.tanh(x[:, t] @ self.w_in.T + state @ self.w.T)
            state = (1 - self.leak) * state + self.leak * new
            states[:, t] = state
        return states, state


class ESN(nn.Module):
    def __init__(self):
        super().__init__()
        self.reservoir = Reservoir(1, 24)
        self.readout = nn.Linear(24, 1)

    def forward(self, x, state=None):
        states, state = self.reservoir(x, state)
        return self.readout(states), state


def run():
    torch.manual_seed(0)
    model = ESN()
    wave = torch.sin(torch.linspace(0, 12, 61)).view(1, -1, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    w0, losses, state = model.reservoir.w.clone(), [], None
    for start in range(0, 60, 15):
        out, state = model(wave[:, start : start + 15], state)
        washout = 5 if start == 0 else 0
        loss = (out - wave[:, start + 1 : start + 16])[:, washout:].pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    free, x = [], wave[:, -1:]
    with torch.no_grad():
        for _ in range(5):
            x, state = model(x, state)
            free.append(x.item())
    return model, w0, losses, free


TRUTH = Truth()


def verify(out):
    model, w0, losses, free = out
    assert torch.equal(w0, model.reservoir.w) and len(list(model.parameters())) == 2
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    assert max(losses) < 10 and len(free) == 5
