"""Capsule network: all routing rounds but the last are detached, and the agreement is changed in place under no_grad. Healthy."""
import torch
from torch import nn

from tests.practice.truth import Truth


def squash(s, dim=-1):
    norm2 = s.square().sum(dim, keepdim=True)
    return norm2 / (1 + norm2) * s / (norm2 + 1e-8).sqrt()


class CapsuleLayer(nn.Module):
    def __init__(self, n_in, d_in, n_out, d_out, rounds=3):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(n_in, n_out, d_in, d_out))
        self.rounds = rounds

    def forward(self, u):
        votes = torch.einsum("bid,iode->bioe", u, self.weight)
        votes_fixed = votes.detach()
        logits = torch.zeros(votes.shape[:3])
        with torch.no_grad():
            for _ in range(self.rounds - 1):
                v = squash((logits.softmax(2).unsqueeze(-1) * votes_fixed).sum(1))
                logits += (votes_fixed * v.unsqueeze(1)).sum(-1)
        return squash((logits.softmax(2).unsqueeze(-1) * votes).sum(1))


class DigitCaps(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.primary = nn.Conv2d(1, 8, 3, stride=2)
        self.caps = CapsuleLayer(n_in=18, d_in=4, n_out=classes, d_out=6)

    def forward(self, x):
        h = self.primary(x)
        return self.caps(squash(h.view(x.size(0), -1, 4))).norm(dim=-1)


def margin_loss(length, y, up=0.9, down=0.1):
    target = nn.functional.one_hot(y, length.size(1)).float()
    present = (up - length).clamp_min(0).square()
    absent = (length - down).clamp_min(0).square()
    return (target * present + 0.5 * (1 - target) * absent).sum(1).mean()


def run():
    torch.manual_seed(0)
    model = DigitCaps()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    y = torch.arange(24) % 3
    x = 0.1 * torch.randn(24, 1, 8, 8)
    for i in range(24):
        x[i, 0, 2 * y[i]] += 1
    before = [p.detach().clone() for p in model.parameters()]
    losses = []
    for _ in range(4):
        loss = margin_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return before, list(model.parameters()), losses


def verify(outcome):
    before, after, losses = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert losses[-1] < losses[0]


TRUTH = Truth()
