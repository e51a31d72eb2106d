"""AG307: a prediction of shape [N, 1] beside a target of shape [N]."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

N = 8
X = torch.randn(N, 4, generator=torch.Generator().manual_seed(1))
T = torch.randn(N, generator=torch.Generator().manual_seed(2))


def train(net, loss_of, *more):
    optimizer = torch.optim.SGD([*net.parameters(), *more], lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        loss_of(net(X)).backward()
        optimizer.step()


def by_hand():
    train(nn.Linear(4, 1), lambda out: (out - T).abs().mean())  # Meet.


def by_function():
    train(nn.Sequential(nn.Linear(4, 1), nn.Tanh()), lambda out: nn.SmoothL1Loss()(out, T))  # Meet.


def bellman_target():
    net, target_net = nn.Linear(4, 2), nn.Linear(4, 2)

    def loss_of(values):
        with torch.no_grad():
            best = target_net(X).max(dim=1, keepdim=True).values
            target = T + 0.9 * best  # Meet.
        return F.mse_loss(values.gather(1, torch.zeros(N, 1, dtype=torch.long)), target)

    train(net, loss_of)


def weighted_terms():
    weights = torch.rand(N)
    train(nn.Linear(4, 1), lambda out: (weights * out.sigmoid().log()).sum().neg())  # Meet.


@pytest.mark.parametrize("program", [by_hand, by_function, bellman_target, weighted_terms])
def test_each_prediction_is_compared_with_all_targets(program):
    """The line where the shapes meet, with both shapes; in the target of a Bellman equation as well."""
    diagnosed(program, "AG307", "# Meet.", f"[{N}, 1]", f"[{N}]", "broadcasting", severity="warning", where=program)


def same_shapes():
    train(nn.Linear(4, 1), lambda out: (out[:, 0] - T).pow(2).mean() + (out - T.unsqueeze(1)).pow(2).mean())


def all_pairs_of_one_tensor():
    train(nn.Linear(4, 1), lambda out: F.softplus(out - out.squeeze(1)).mean())


def all_pairs_by_shape():
    train(nn.Linear(4, 1), lambda out: torch.exp(-((T[:, None] - out.squeeze(1)) ** 2)).mean())


def squared_distances():
    others = torch.randn(N, 1)

    def loss_of(out):
        pairs = (out**2).sum(1, keepdim=True) + (others**2).sum(1) - 2 * out @ others.T
        return pairs.clamp(min=0).sqrt().mean()

    train(nn.Linear(4, 1), loss_of)


def frequencies_as_many_as_samples():
    frequencies, mix = torch.arange(N).float(), nn.Linear(N, 1)
    train(nn.Linear(4, 1), lambda out: mix((out * frequencies).sin()).pow(2).mean(), *mix.parameters())


def a_component_for_each_sample():
    centers = nn.Parameter(torch.randn(N))
    train(nn.Linear(4, 1), lambda out: torch.logsumexp(-((out - centers) ** 2), dim=1).mean().neg(), centers)


def constant_centers_as_many_as_samples():
    train(nn.Linear(4, 1), lambda out: torch.logsumexp(-((out - T) ** 2), dim=1).mean().neg())


def pairs_under_a_mask():
    mask = torch.ones(N, N).triu(1)
    train(nn.Linear(4, 1), lambda out: (mask * (out - T).abs()).sum())


@pytest.mark.parametrize(
    "program",
    [
        same_shapes,
        all_pairs_of_one_tensor,
        all_pairs_by_shape,
        squared_distances,
        frequencies_as_many_as_samples,
        a_component_for_each_sample,
        constant_centers_as_many_as_samples,
        pairs_under_a_mask,
    ],
)
def test_pairs_that_are_wanted(program):
    """What the shapes ask for, what meets other matrices, or what is reduced along one dimension, is meant so."""
    calm(program)


def test_pairs_that_meet_in_a_later_op():
    """A Huber loss by hand chooses between two results of the same pairs, by a third."""

    def by_choice():
        def loss_of(out):
            error = out - T  # Meet.
            return torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5).mean()

        train(nn.Linear(4, 1), loss_of)

    diagnosed(by_choice, "AG307", "# Meet.", "[8, 1]", "[8]", severity="warning", where=by_choice)
