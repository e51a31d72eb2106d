"""A stateful LSTM keeps its state with the graph; retain_graph=True does not help once the weights are stepped."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class StatefulLSTM(nn.Module):
    def __init__(self, inp=3, hidden=10):
        super().__init__()
        self.lstm = nn.LSTM(inp, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        out, state = self.lstm(x, self.state)
        self.state = state  # cause
        return self.fc(out).squeeze(-1)


class Scaler:
    def fit(self, x):
        self.mean, self.std = x.mean((0, 1)), x.std((0, 1)) + 1e-6
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std


def sensor_data(n=2, length=24):
    t = torch.arange(length)
    base = torch.stack([torch.sin(t / 3 + k) for k in range(n)])
    x = torch.stack([base, base**2, torch.cos(t / 5).expand(n, -1)], -1) + 0.05 * torch.randn(n, length, 3)
    return x, base.roll(-1, 1)


def run():
    torch.manual_seed(0)
    x, y = sensor_data()
    x = Scaler().fit(x)(x)
    model = StatefulLSTM()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(2):
        model.reset()
        total = 0.0
        for xb, yb in zip(x.split(6, dim=1), y.split(6, dim=1)):
            loss = F.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward(retain_graph=True)  # symptom
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 4:.4f}")
    return model


TRUTH = Truth(
    fault="the state leads back into windows whose weights have been changed",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("state",),
    repair=("self.state = tuple(s.detach() for s in state)",),
)
