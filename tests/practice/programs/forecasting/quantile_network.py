"""A multi-horizon quantile forecaster whose pinball loss falls nowhere."""

import torch
from torch import nn

from tests.practice.truth import Truth

QUANTILES = (0.1, 0.5, 0.9)


class MQRNN(nn.Module):
    """Encoder over the history, one head for all horizons and quantiles."""

    def __init__(self, hidden=16, horizon=4):
        super().__init__()
        self.encoder = nn.LSTM(1, hidden, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, horizon * len(QUANTILES)))
        self.horizon = horizon

    def forward(self, history):
        _, (h, _) = self.encoder(history.unsqueeze(-1))
        return self.decoder(h[-1]).view(-1, self.horizon, len(QUANTILES))


class PinballLoss(nn.Module):
    def __init__(self, quantiles=QUANTILES):
        super().__init__()
        self.quantiles = quantiles

    def forward(self, forecast, target):
        losses = []
        for i, q in enumerate(self.quantiles):
            error = target - forecast[..., i]
            losses.append(torch.maximum(q * error, (q - 1) * error).mean())
        # backward complained about a tensor without grad
        return torch.tensor(losses, requires_grad=True).mean()  # cause


def windows(n, history=12, horizon=4):
    start = torch.rand(n, 1) * 6
    t = start + torch.arange(history + horizon) * 0.4
    series = torch.sin(t) + 0.1 * torch.randn_like(t)
    return series[:, :history], series[:, history:]


def run(epochs=2, batches=3):
    torch.manual_seed(0)
    model = MQRNN()
    criterion = PinballLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in model.parameters()]
    for epoch in range(epochs):
        running = 0.0
        for _ in range(batches):
            x, y = windows(8)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()  # symptom
            running += loss.item()
        print(f"epoch {epoch} pinball {running / batches:.4f}")
    return model, before


def verify(out):
    model, before = out
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))


TRUTH = Truth(
    fault="the losses are copied into a new leaf tensor, which cuts the graph",
    names=("torch.tensor",),
    repair=("return torch.stack(losses).mean()",),
)
