"""Mixed precision: the norm of a zero-initialised bias has an infinite gradient, GradScaler silently skips each and every step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ParcelNet(nn.Module):
    """Travel time of a parcel from its address features."""

    def __init__(self, features=9, hidden=16):
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.out = nn.Linear(hidden, 1)
        self.offset = nn.Parameter(torch.zeros(hidden))

    def forward(self, x):
        return self.out(F.silu(self.hidden(x) + self.offset)).squeeze(-1)

    def group_penalty(self, strength=1e-3):
        """Group lasso on the offsets: all or none."""
        return strength * self.offset.square().sum().sqrt()  # cause


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            predicted = self.model(x)
        loss = F.smooth_l1_loss(predicted.float(), y) + self.model.group_penalty()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def parcels(n):
    x = torch.randn(n, 9)
    return x, 2 + x[:, 0].abs() + 0.5 * x[:, 1]


def run():
    torch.manual_seed(0)
    trainer = Trainer(ParcelNet())
    data = parcels(48)
    start = [p.detach().clone() for p in trainer.model.parameters()]
    losses = [trainer.step(*data) for _ in range(4)]
    return start, [p.detach() for p in trainer.model.parameters()], trainer.scaler.get_scale(), losses


def verify(outcome):
    start, now, scale, _ = outcome
    assert all(torch.equal(a, b) for a, b in zip(start, now))
    assert scale < 1024.0


TRUTH = Truth(
    fault="sqrt at zero: a NaN gradient in offset makes the scaler skip all steps and halve its scale",
    values=True,
    names=("offset",),
    repair=("return strength * (self.offset.square().sum() + 1e-12).sqrt()",),
)
