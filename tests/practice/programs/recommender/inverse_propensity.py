"""Ratings are missing not at random: the squared error is weighted by inverse propensities, which are learned too."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MatrixFactorisation(nn.Module):
    def __init__(self, users, items, dim=5):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.bias = nn.Embedding(items, 1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


class PropensityModel(MatrixFactorisation):
    """The probability that a user rates an item."""

    def probability(self, u, i):
        return torch.sigmoid(self(u, i)).clamp(0.05, 1.0)


def weighted_error(rating_model, propensity_model, u, i, r):
    weight = 1.0 / propensity_model.probability(u, i)  # cause
    error = F.mse_loss(rating_model(u, i), r, reduction="none")
    return (weight * error).sum() / len(r)


def exposure_loss(propensity_model, u, i, observed):
    return F.binary_cross_entropy_with_logits(propensity_model(u, i), observed)


def train(ratings, propensities, log, users, items, steps=5):
    optimizer = torch.optim.Adam(
        [
            {"params": ratings.parameters(), "lr": 1e-2},
            {"params": propensities.parameters(), "lr": 1e-3},
        ],
    )
    u, i, r = log
    drawn_by_rating = []
    for step in range(steps):
        pick = torch.randint(len(r), (16,))
        optimizer.zero_grad()
        error = weighted_error(ratings, propensities, u[pick], i[pick], r[pick])
        error.backward()  # symptom
        # how much of the propensities' gradient comes from here
        drawn_by_rating.append(sum(p.grad.norm().item() for p in propensities.parameters() if p.grad is not None))
        random_u, random_i = torch.randint(users, (16,)), torch.randint(items, (16,))
        all_u, all_i = torch.cat([u[pick], random_u]), torch.cat([i[pick], random_i])
        exposure = exposure_loss(propensities, all_u, all_i, torch.cat([torch.ones(16), torch.zeros(16)]))
        exposure.backward()
        optimizer.step()
        print(f"step {step} ips-mse {error.item():.3f} exposure {exposure.item():.3f}")
    return drawn_by_rating


def run(users=12, items=15):
    torch.manual_seed(0)
    log = torch.randint(users, (80,)), torch.randint(items, (80,)), torch.randint(1, 6, (80,)).float()
    return train(MatrixFactorisation(users, items), PropensityModel(users, items), log, users, items)


def verify(drawn_by_rating):
    assert min(drawn_by_rating) > 0


TRUTH = Truth(
    fault="the weights are not detached: the rating error teaches the propensities to rise where it is large",
    names=("weight", "propensity"),
    repair=("weight = 1.0 / propensity_model.probability(u, i).detach()",),
)
