"""AG205: new gradients, and steps of the forward, that a statement computes and drops."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained(treat, rounds=2):
    """Train a net; `treat` is given its parameters between backward and step."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(rounds):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        treat(list(net.parameters()))
        optimizer.step()


def scaled(params):
    for p in params:
        p.grad.mul(0.1)  # Dropped.


def clamped(params):
    for p in params:
        p.grad.clamp(-0.01, 0.01)  # Dropped.


def rebound(params):
    for g in [p.grad for p in params]:
        g = g * 0.1  # Dropped.  # noqa: PLW2901 - the fault


@pytest.mark.parametrize("treat", [scaled, clamped, rebound])
def test_new_gradients_that_are_thrown_away(treat):
    """Scaled or clamped out of place, as a statement or into the loop's variable: step() takes the old ones."""
    diagnosed(lambda: trained(treat), "AG205", "# Dropped.", "gradients of", "weight", severity="warning", where=treat)


def measured(params):
    for p in params:
        print(p.grad.mul(0.1).norm().item())


def kept_by_name(params):
    seen = {}
    for _ in range(2):
        for number, p in enumerate(params):
            seen[number] = p.grad * p.grad


def assigned(params):
    for p in params:
        new = p.grad * 0.1
        p.grad = new


def written(params):
    for p in params:
        p.grad.mul_(0.1)


@pytest.mark.parametrize("treat", [measured, kept_by_name, assigned, written])
def test_gradients_that_are_used(treat):
    """Printed, kept by a name, assigned, or written in place."""
    calm(lambda: trained(treat))


class Attention(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.query, self.key, self.mask = nn.Linear(4, 4), nn.Linear(4, 4), mask

    def forward(self, x):
        scores = self.query(x) @ self.key(x).T
        return self.mask(scores).softmax(-1) @ x


def dropped(scores):
    scores.masked_fill(torch.ones(8, 8).triu(1).bool(), -1e9)  # Dropped.
    return scores


def added(scores):
    scores.add(torch.ones(8, 8).triu(1) * -1e9)  # Dropped.
    return scores


def attends(mask):
    def program():
        net = Attention(mask)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()

    return program


@pytest.mark.parametrize("mask", [dropped, added])
def test_step_of_the_forward_that_does_nothing(mask):
    """The scores go on unmasked."""
    diagnosed(attends(mask), "AG205", "# Dropped.", "old value", severity="warning", where=mask)


def test_parameters_that_take_part_in_nothing_else():
    """They get no gradient, and that is said there and nowhere else."""
    shift = nn.Linear(4, 4)

    def program():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*net.parameters(), *shift.parameters()], lr=0.1)
        h = net(X)
        h.add(shift(X))  # Dropped.
        h.pow(2).mean().backward()
        optimizer.step()

    finding = diagnosed(program, "AG205", "# Dropped.", "no gradient", severity="warning")
    assert {"shift.weight", "shift.bias"} <= set(finding.subjects)


def masked(scores):
    return scores.masked_fill(torch.ones(8, 8).triu(1).bool(), -1e9)


def left_to_the_caller(scores):
    masked(scores)  # Dropped.
    return scores


def left_two_functions_above(scores):
    def again(values):
        return masked(values * 2)

    again(scores)  # Dropped.
    return scores


@pytest.mark.parametrize("mask", [left_to_the_caller, left_two_functions_above])
def test_a_function_that_is_called_in_vain(mask):
    """It computes and does nothing else, its caller drops what it returns, and the loss is computed without that."""
    finding = diagnosed(attends(mask), "AG205", "# Dropped.", "old value", severity="warning", where=mask)
    assert "(x, ...)" in finding.fix


def test_functions_that_are_called_for_something_else():
    """They write, keep, or show what they compute; or are only tried, and serve where they are called again."""
    kept, shown = [], []

    def keeps(scores):
        def into(values):
            kept.append(values * 2)
            return kept[-1]

        into(scores)
        return scores

    def writes(scores):
        seen = torch.zeros(8, 8)

        def into(values):
            seen.add_(values.detach())
            return values * 2

        into(scores)
        return scores

    def shows(scores):
        def into(values):
            scaled = values * 2
            shown.append(float(scaled.mean()))
            return scaled

        into(scores)
        return scores

    def tried(scores):
        masked(scores)
        return masked(scores)

    calm(*map(attends, (keeps, writes, shows, tried)))


def test_steps_that_are_used_or_of_no_account():
    """Taken; made of what no loss is computed with."""

    def taken(scores):
        return scores.masked_fill(torch.ones(8, 8).triu(1).bool(), -1e9)

    def timed():
        trained(lambda _: None)
        x = X.clone().requires_grad_()
        for _ in range(3):
            x.mul(2)

    calm(attends(taken), timed)
