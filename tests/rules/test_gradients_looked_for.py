"""Cuts in front of a tensor that no optimizer holds, and whose ``.grad`` the program reads after backward()."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

NET = nn.Linear(4, 2)


def detached(x):
    return x.detach() * 2  # Cut.


def without_grad_mode(x):
    with torch.no_grad():
        return x * 2  # Cut.


def rounded(x):
    return x.round().long().float()  # Cut.


def saliency(prepare, look):
    x = torch.randn(3, 4).requires_grad_()
    NET(prepare(x)).sum().backward()
    look(x)


def shown(x):
    print(x.grad)


def kept(x):
    return {"gradient": x.grad}


@pytest.mark.parametrize("look", [shown, kept])
@pytest.mark.parametrize(
    ("prepare", "rule", "culprit"),
    [(detached, "AG101", "# Cut."), (without_grad_mode, "AG102", "with torch.no_grad()"), (rounded, "AG104", "# Cut.")],
)
def test_gradient_that_is_read_and_is_none(prepare, rule, culprit, look):
    """The cut between the tensor and the loss, and where its `.grad` is read; no optimizer is needed to say so."""
    finding = diagnosed(
        lambda: saliency(prepare, look), rule, culprit, "x", "gets no gradient", severity="warning", where=prepare
    )
    assert any("x.grad" in location.source for location in finding.locations)


def only_asked(x):
    assert x.grad is None


def asked_first(x):
    return 0.0 if x.grad is None else x.grad.norm()


def never_read(x):
    return x.sum()


@pytest.mark.parametrize("look", [only_asked, asked_first, never_read])
def test_gradient_that_nobody_looks_for(look):
    """Who asks whether there is none, or reads nothing, may want it so."""
    calm(lambda: saliency(detached, look))


def test_parameters_that_are_gone_through():
    """A list of all gradients of a model may have gaps."""

    def program():
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        head(body(torch.randn(3, 4)).detach()).sum().backward()
        return [p.grad for p in (*body.parameters(), *head.parameters())]

    calm(program)


def test_gradient_that_is_there_later():
    """Read before the first backward that reaches it, or after another loss."""

    def program():
        x, w = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
        print(x.grad)
        (x.detach() * w).sum().backward()
        print(x.grad)
        (x * w).sum().backward()
        print(x.grad)

    calm(program)
