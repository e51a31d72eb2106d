"""Training with noise on the weights: the context that takes the noise back ends before backward."""

from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class TrajectoryNet(nn.Module):
    def __init__(self, past=8, future=12, hidden=24):
        super().__init__()
        self.social = nn.Linear(4, hidden)
        self.fc1, self.fc2 = nn.Linear(2 * past, hidden), nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, 2 * future)

    def forward(self, past, neighbours):
        h = torch.tanh(self.fc1(past.flatten(1)))
        s = F.softplus(self.social(neighbours)).mean(1)
        h = torch.tanh(self.fc2(torch.cat([h, s], -1)))
        return self.out(h).view(len(past), -1, 2)


@contextmanager
def perturbed_weights(model, std):
    """Add Gaussian noise, relative to each tensor's norm, to all of the weights for a while."""
    clean = {name: p.data.clone() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.data.add_(torch.randn_like(p) * p.data.abs().mean() * std)
    try:
        yield
    finally:
        for name, p in model.named_parameters():
            p.data.copy_(clean[name])  # also


def average_displacement(pred, target):
    return (pred - target).norm(dim=-1).mean()


def training_step(model, optimizer, batch, std):
    past, neighbours, future = batch
    optimizer.zero_grad()
    with perturbed_weights(model, std):
        loss = average_displacement(model(past, neighbours), future)  # cause
    loss.backward()  # cause
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = TrajectoryNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    differences = []
    for seed in range(3):
        batch = torch.randn(8, 8, 2), torch.randn(8, 5, 4), torch.randn(8, 12, 2)
        torch.manual_seed(seed)
        with perturbed_weights(model, 0.5):
            loss = average_displacement(model(batch[0], batch[1]), batch[2])
            right = torch.autograd.grad(loss, list(model.parameters()))
        torch.manual_seed(seed)
        training_step(model, optimizer, batch, std=0.5)
        pairs = zip(model.parameters(), right)
        differences.append(max((p.grad - g).abs().max().item() / g.abs().max().item() for p, g in pairs))
    return differences


def verify(differences):
    assert min(differences) > 0.02, differences


TRUTH = Truth(
    fault="backward sees the clean weights, written back through .data, while the loss was that of the noisy ones",
    names=("data",),
    repair=("loss = average_displacement(model(past, neighbours), future)\nloss.backward()", "pass"),
)
