"""A stateful forecaster over one long series: truncated backpropagation, reversible normalisation; nothing is wrong."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class RevIN(nn.Module):
    """Normalise each window, and undo it at the end."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))
        self.shift = nn.Parameter(torch.zeros(1))

    def normalise(self, x):
        self.mean = x.mean(1, keepdim=True).detach()
        self.std = x.std(1, keepdim=True).detach() + 1e-5
        return (x - self.mean) / self.std * self.gain + self.shift

    def undo(self, x):
        return (x - self.shift) / self.gain * self.std + self.mean


class StatefulForecaster(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.revin = RevIN()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.rnn(self.revin.normalise(x).unsqueeze(-1), state)
        return self.revin.undo(self.out(h).squeeze(-1)), state


@torch.no_grad()
def evaluate(model, series, window):
    model.eval()
    state, errors = None, []
    for x, y in zip(series[:, :-1].split(window, 1), series[:, 1:].split(window, 1), strict=True):
        forecast, state = model(x, state)
        errors.append((forecast - y).abs().mean())
    model.train()
    return torch.stack(errors).mean().item()


def run(epochs=3, window=8):
    torch.manual_seed(0)
    t = torch.arange(49.0) * 0.3 + torch.rand(4, 1) * 6
    train, valid = torch.sin(t) + 0.02 * t, torch.sin(t + 1) + 0.02 * t
    model = StatefulForecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    best, best_error, errors = None, float("inf"), []
    for epoch in range(epochs):
        state = None
        for x, y in zip(train[:, :-1].split(window, 1), train[:, 1:].split(window, 1), strict=True):
            state = None if state is None else state.detach()
            forecast, state = model(x, state)
            loss = nn.functional.smooth_l1_loss(forecast, y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        errors.append(evaluate(model, valid, window))
        plateau.step(errors[-1])
        if errors[-1] < best_error:
            best, best_error = copy.deepcopy(model.state_dict()), errors[-1]
        print(f"epoch {epoch} mae {errors[-1]:.4f}")
    model.load_state_dict(best)
    return errors, evaluate(model, valid, window)


def verify(out):
    errors, final = out
    assert abs(final - min(errors)) < 1e-6 and errors[-1] < errors[0]


TRUTH = Truth()
