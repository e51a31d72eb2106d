"""Cox regression: the risks are sorted in numpy, and `requires_grad_()` on the loss quiets the complaint about it."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class DeepSurv(nn.Module):
    def __init__(self, covariates=7, hidden=12, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(covariates, hidden), nn.SELU(), nn.AlphaDropout(dropout), nn.Linear(hidden, 1, bias=False)
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def cox_loss(risk, times, events):
    """Negative partial log-likelihood (Breslow); patients at risk come first once sorted by descending time."""
    order = np.argsort(-times.numpy())
    risk = torch.from_numpy(risk.detach().numpy()[order])  # cause
    events = events[torch.from_numpy(order)]
    log_hazard = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_hazard) * events).sum() / events.sum().clamp(min=1)


def concordance(risk, times, events):
    earlier = (times[:, None] < times[None]) & events.bool()[:, None]
    return ((risk[:, None] > risk[None]) & earlier).sum() / earlier.sum()


def cohort(n=40):
    x = torch.randn(n, 7)
    times = torch.distributions.Exponential(torch.exp(x[:, 0] - 0.5 * x[:, 1])).sample()
    censoring = torch.distributions.Exponential(torch.full((n,), 0.4)).sample()
    return x, torch.minimum(times, censoring), (times <= censoring).float()


def run():
    torch.manual_seed(0)
    x, times, events = cohort()
    model = DeepSurv()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
    for epoch in range(5):
        model.train()
        opt.zero_grad()
        loss = cox_loss(model(x), times, events)
        loss.requires_grad_(True)  # also
        loss.backward()  # symptom
        opt.step()
        model.eval()
        with torch.no_grad():
            c = concordance(model(x), times, events)
        print(f"epoch {epoch} loss {loss.item():.4f} c-index {c:.3f}")
    return model


def verify(out):
    assert all(p.grad is None for p in out.parameters())


TRUTH = Truth(
    fault="the loss is cut from the model by a detour through numpy",
    names=("risk", "detach"),
    repair=("risk = risk[torch.from_numpy(order)]",),
)
