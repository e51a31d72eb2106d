"""Early stopping: the best state is cloned key by key, put back at the end, and then only used without a gradient."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class EarlyStopping:
    def __init__(self, patience=1, delta=0.0):
        self.patience, self.delta = patience, delta
        self.counter, self.best, self.stop, self.state = 0, np.inf, False, None

    def __call__(self, value, model):
        if value < self.best - self.delta:
            self.best, self.counter = value, 0
            self.state = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
        else:
            self.counter += 1
            self.stop = self.counter > self.patience


class Quantiles(nn.Module):
    def __init__(self, taus):
        super().__init__()
        self.register_buffer("taus", torch.tensor(taus))
        self.net = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ELU(), nn.Linear(16, len(taus)))

    def forward(self, x):
        return self.net(x)

    def pinball(self, x, y):
        diff = y - self(x)
        return torch.maximum(self.taus * diff, (self.taus - 1) * diff).mean()


def run():
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x.sum(1, keepdim=True) + 0.5 * torch.randn(64, 1)
    model, stopper = Quantiles([0.1, 0.5, 0.9]), EarlyStopping()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    vals = []
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(48).split(16):
            optimizer.zero_grad()
            model.pinball(x[idx], y[idx]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            vals.append(model.pinball(x[48:], y[48:]).item())
        stopper(vals[-1], model)
        if stopper.stop:
            break
    model.load_state_dict(stopper.state)
    with torch.no_grad():
        final = model.pinball(x[48:], y[48:]).item()
        coverage = (y[48:] < model(x[48:])[:, 2:]).float().mean().item()
    return model, stopper, vals, final, coverage


TRUTH = Truth()


def verify(out):
    model, stopper, vals, final, coverage = out
    assert abs(final - stopper.best) < 1e-6 and final == min(vals) and 0 <= coverage <= 1
    assert not any(v.requires_grad for v in stopper.state.values())
