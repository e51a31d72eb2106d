"""Mixed precision: the loss is scaled, but optimizer.step() is called in place of scaler.step(optimizer)."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VolatilityNet(nn.Module):
    """Next day's realised volatility from the last returns."""

    def __init__(self, lags=10):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 3)
        self.head = nn.Linear(8 * (lags - 2), 1)

    def forward(self, returns):
        h = F.relu(self.conv(returns.unsqueeze(1)))
        return F.softplus(self.head(h.flatten(1))).squeeze(-1)


def garch(n, days):
    sigma = torch.ones(n)
    path = []
    for _ in range(days):
        r = sigma * torch.randn(n)
        sigma = (0.1 + 0.2 * r.square() + 0.7 * sigma.square()).sqrt()
        path.append(r)
    return torch.stack(path, 1), sigma


class AmpTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            predicted = self.model(x)
        loss = F.mse_loss(predicted.float(), y)
        self.scaler.scale(loss).backward()  # also
        self.optimizer.step()  # cause
        return loss.item()


def run():
    torch.manual_seed(0)
    x, y = garch(64, 10)
    trainer = AmpTrainer(VolatilityNet(), lr=1e-3)
    losses = [trainer.train_step(x, y) for _ in range(4)]
    return losses


def verify(outcome):
    assert outcome[-1] > 1.2 * outcome[0] or outcome[1] > 1.2 * outcome[0]


TRUTH = Truth(
    fault="the gradients of the scaled loss are used as they are, 4096 times too large",
    names=("step", "scale"),
    repair=("self.scaler.step(self.optimizer)\nself.scaler.update()",),
)
