"""Resume: parameter groups are listed in another order than when saved, so the moments go to the wrong layers (same shapes, no error)."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

WIDTH = 8


class DeepSet(nn.Module):
    """Galaxy cluster mass from a set of member galaxies."""

    def __init__(self):
        super().__init__()
        self.phi = nn.Linear(WIDTH, WIDTH)
        self.rho = nn.Linear(WIDTH, WIDTH)
        self.mass = nn.Linear(WIDTH, WIDTH)

    def forward(self, galaxies):
        h = F.relu(self.phi(galaxies)).mean(1)
        return self.mass(F.relu(self.rho(h))).logsumexp(-1)


def build_optimizer(model, resumed=False):
    decay = [p for p in model.parameters() if p.ndim == 2]
    plain = [p for p in model.parameters() if p.ndim < 2]
    if resumed:
        decay = decay[::-1]  # largest last, as the sharded checkpointing wants it  # cause
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=1e-2)


def train(model, optimizer, data, steps):
    x, y = data
    for _ in range(steps):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def save(model, optimizer):
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    return file


def resume(file):
    checkpoint = torch.load(file)
    model = DeepSet()
    model.load_state_dict(checkpoint["model"])
    optimizer = build_optimizer(model, resumed=True)
    optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer


def run():
    torch.manual_seed(0)
    x = torch.randn(32, 5, WIDTH)
    data = x, x[..., 0].exp().mean(1)
    model = DeepSet()
    optimizer = build_optimizer(model)
    train(model, optimizer, data, 3)
    file = save(model, optimizer)
    train(model, optimizer, data, 2)
    again, optimizer = resume(file)
    train(again, optimizer, data, 2)
    return [p.detach() for p in model.parameters()], [p.detach() for p in again.parameters()]


def verify(outcome):
    one_go, resumed = outcome
    assert not all(torch.allclose(a, b, atol=1e-6) for a, b in zip(one_go, resumed))


TRUTH = Truth(
    fault="optimizer state is matched by position, the positions have changed",
    names=("load_state_dict", "optimizer"),
    repair=("decay = list(decay)",),
)
